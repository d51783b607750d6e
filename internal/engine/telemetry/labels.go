package telemetry

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

const (
	// ownLabel is how many tenants have labels of their own in metrics, and otherLabel is that of the rest.
	ownLabel   = 50
	otherLabel = "other"

	// labelsEvery is how often it is looked whether others have more to do than those that have labels.
	labelsEvery = time.Minute
	// labelFor is how long a tenant keeps its label at least.
	labelFor = 10 * time.Minute
	// outdoes is how many times more than another a tenant has to do to get its label,
	// and mostGiven how many labels are given to others at a look: dashboards should not flicker.
	outdoes   = 2
	mostGiven = 5
	// halfLife is how long it takes for an item to count half.
	halfLife = time.Hour
	// mostScored bounds the tenants whose items are counted for this, and mostFormer
	// those whose counters are kept for the time when they get a label again.
	mostScored = 20_000
	mostFormer = 1_000
)

// labels says which tenants have a label of their own in metrics: those with the
// most items accepted and ended in the last hours.
//
// A counter belongs to its label: what a tenant does while it has one counts
// there, and what it does otherwise counts as that of others. So no counter ever
// goes back, and all of them together are exact. One that lost its label is not
// shown; if it gets it again, it goes on from where it was.
type labels struct {
	since  map[string]time.Time // when those got theirs that have one
	scores map[string]float64   // items lately, by tenant
	former []string             // those that lost theirs, the longest ago first
	looked time.Time
}

func newLabels(now time.Time) labels {
	return labels{since: map[string]time.Time{}, scores: map[string]float64{}, looked: now}
}

// of is the label of a tenant of which so many items were accepted or have
// ended. While there are few tenants, each gets one at once.
func (l *labels) of(tenant string, items int64) string {
	l.scores[tenant] += float64(items)
	if l.has(tenant) {
		return tenant
	}
	if len(l.since) < ownLabel {
		l.give(tenant, l.looked)
		return tenant
	}
	return otherLabel
}

// has reports whether a tenant has a label of its own.
func (l *labels) has(tenant string) bool {
	_, ok := l.since[tenant]
	return ok
}

// shown reports whether a label is in use.
func (l *labels) shown(label string) bool { return label == otherLabel || l.has(label) }

func (l *labels) give(tenant string, now time.Time) {
	l.since[tenant] = now
	l.former = slices.DeleteFunc(l.former, func(t string) bool { return t == tenant })
}

// look has those with more to do take the labels of those with less. It returns
// the tenants that lost theirs so long ago that nothing of them is kept.
func (l *labels) look(now time.Time) (forgotten []string) {
	past := now.Sub(l.looked)
	if past < labelsEvery {
		return nil
	}
	l.looked = now
	l.fade(math.Exp2(-past.Hours() / halfLife.Hours()))
	for range mostGiven {
		least, most := l.least(now), l.most()
		if least == "" || most == "" || l.scores[most] <= outdoes*l.scores[least] {
			break
		}
		delete(l.since, least)
		l.former = append(l.former, least)
		l.give(most, now)
	}
	if n := len(l.former) - mostFormer; n > 0 {
		forgotten, l.former = l.former[:n:n], l.former[n:]
	}
	return forgotten
}

// fade lets items of the past count less, and forgets who has next to none.
func (l *labels) fade(by float64) {
	for t := range l.scores {
		l.scores[t] *= by
	}
	for floor := 0.5; floor == 0.5 || len(l.scores) > mostScored; floor *= 2 {
		maps.DeleteFunc(l.scores, func(t string, score float64) bool { return score < floor && !l.has(t) })
	}
}

// most is the tenant without a label that has the most to do.
func (l *labels) most() (tenant string) {
	for t, score := range l.scores {
		if !l.has(t) && (tenant == "" || score > l.scores[tenant] || score == l.scores[tenant] && t < tenant) {
			tenant = t
		}
	}
	return tenant
}

// least is the tenant with the least to do of those that have had their label long enough.
func (l *labels) least(now time.Time) (tenant string) {
	for t, since := range l.since {
		if now.Sub(since) >= labelFor && (tenant == "" || l.scores[t] < l.scores[tenant] ||
			l.scores[t] == l.scores[tenant] && t < tenant) {
			tenant = t
		}
	}
	return tenant
}

// relabel gives labels to those with the most to do. The caller holds c.mu.
func (c *Recorder) relabel(now time.Time) {
	for _, tenant := range c.tenants.look(now) {
		maps.DeleteFunc(c.ingested, func(k ingestion, _ int64) bool { return k.tenant == tenant })
		maps.DeleteFunc(c.finished, func(k finish, _ int64) bool { return k.tenant == tenant })
		delete(c.starved, tenant)
	}
}

// shownShares is how the tenants that have labels of their own share this node's
// resources, and the others together.
func (c *Recorder) shownShares(n *weir.Node) (out []Share) {
	all := Shares(n.Lanes, c.weight)
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := map[string]*Share{}
	for _, s := range all {
		if c.tenants.of(s.Tenant, 0) == s.Tenant {
			out = append(out, s)
			continue
		}
		if rest[s.Resource] == nil {
			rest[s.Resource] = &Share{Resource: s.Resource, Tenant: otherLabel}
		}
		rest[s.Resource].Entitled += s.Entitled
		rest[s.Resource].Actual += s.Actual
	}
	for _, r := range slices.Sorted(maps.Keys(rest)) {
		out = append(out, *rest[r])
	}
	return out
}
