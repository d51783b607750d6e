//go:build unix

package fleettest

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Span is one call, by the log of the handler that was called.
type Span struct {
	// Node is the number of the node that called.
	Node int
	// Item is the number of the item.
	Item int
	// Planned is when the node took the call up, and counted it.
	Planned int64
	// From and To are when the call began and ended. To is 0 if it never ended.
	From, To int64
}

// Spans are the calls of a campaign, in the order in which they began.
type Spans []Span

// Spans reads the logs of all handlers.
func (k *Campaign) Spans() (all Spans) {
	k.t.Helper()
	for n := range k.nodes {
		raw, err := os.ReadFile(k.log(n))
		if err != nil {
			k.t.Fatal(err)
		}
		open := map[int]Span{}
		for line := range strings.Lines(string(raw)) {
			var what string
			var item int
			var at int64
			if _, err := fmt.Sscanf(line, "%s %d %d", &what, &item, &at); err != nil {
				k.t.Fatalf("log of node %d: %q: %v", n, line, err)
			}
			s := open[item]
			switch what {
			case "p":
				open[item] = Span{Node: n, Item: item, Planned: at, From: at}
				continue
			case "b":
				s.From = at
				open[item] = s
				continue
			}
			s.To = at
			delete(open, item)
			all = append(all, s)
		}
		for _, s := range open {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), a.Item-b.Item) })
	return all
}

// Judge compares the log of the handlers with what weir says. Every item must have ended, and be
// counted once. Items are called for a second time only where the first call was of a node that
// was killed, and no more of them than were in flight or uncommitted there.
func (k *Campaign) Judge() Spans {
	k.t.Helper()
	p, err := k.Bulk.Now(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	if int(p.Counts.Done) != k.config.Items || p.Counts.Ended() != p.Counts.Done || int(p.Counts.Total) != k.config.Items {
		k.t.Errorf("weir counts %+v, want %d items done", p.Counts, k.config.Items)
	}
	all, ended, again := k.Spans(), make([]int, k.config.Items), 0
	before := map[int]Span{}
	for _, s := range all {
		if s.To != 0 {
			ended[s.Item]++
		}
		first, called := before[s.Item]
		before[s.Item] = s
		if !called {
			continue
		}
		if again++; !k.killed[first.Node] {
			k.t.Errorf("item %d was called for by node %d, and before by node %d, which lives", s.Item, s.Node, first.Node)
		}
	}
	for item, n := range ended {
		if n == 0 {
			k.t.Errorf("item %d never ended", item)
		}
	}
	if most := len(k.killed) * 2 * k.config.Slots; again > most {
		k.t.Errorf("%d calls were repeated, want at most %d after %d deaths", again, most, len(k.killed))
	}
	return all
}

// Until returns when a part of the items had ended for the first time.
func (s Spans) Until(part float64) int64 {
	seen := map[int]bool{}
	var ends []int64
	for _, c := range slices.SortedFunc(slices.Values(s), func(a, b Span) int { return cmp.Compare(a.To, b.To) }) {
		if c.To != 0 && !seen[c.Item] {
			seen[c.Item] = true
			ends = append(ends, c.To)
		}
	}
	return ends[min(int(part*float64(len(ends))), len(ends)-1)]
}

// Busy returns how many calls were in flight between two times, on an average.
func (s Spans) Busy(from, to int64) float64 {
	total := int64(0)
	for _, c := range s {
		if end := min(cmp.Or(c.To, c.From), to); end > max(c.From, from) {
			total += end - max(c.From, from)
		}
	}
	return float64(total) / float64(to-from)
}

// Most returns the most calls that were in flight at once.
func (s Spans) Most() (most int) {
	type edge struct {
		at int64
		by int
	}
	var edges []edge
	for _, c := range s {
		edges = append(edges, edge{c.From, 1}, edge{cmp.Or(c.To, c.From), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	n := 0
	for _, e := range edges {
		n += e.by
		most = max(most, n)
	}
	return most
}

// Busiest returns the most calls that nodes took up within any second.
func (s Spans) Busiest() int {
	at := make([]int64, len(s))
	for i := range s {
		at[i] = s[i].Planned
	}
	slices.Sort(at)
	return busiest(at, time.Second)
}

// Of returns the calls of one node.
func (s Spans) Of(node int) (some Spans) {
	for _, c := range s {
		if c.Node == node {
			some = append(some, c)
		}
	}
	return some
}

// After returns the calls that began after a time.
func (s Spans) After(at time.Time) (some Spans) {
	for _, c := range s {
		if c.From >= at.UnixNano() {
			some = append(some, c)
		}
	}
	return some
}

// Course describes the part of the slots that had a call, in each of so many equal parts of the
// time.
func (s Spans) Course(slots, parts int) string {
	first, last := s[0].From, s.Until(1)
	var text strings.Builder
	for i := range parts {
		step := (last - first) / int64(parts)
		from := first + int64(i)*step
		fmt.Fprintf(&text, "%.0f ", 100*s.Busy(from, from+step)/float64(slots))
	}
	return fmt.Sprintf("%s%% of the slots in each %v", text.String(), time.Duration((last-first)/int64(parts)).Round(time.Millisecond))
}
