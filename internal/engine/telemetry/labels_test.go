package telemetry

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var labelsFrom = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// manyLabels is what is left for others when the first tenants have taken all labels.
func manyLabels() *labels {
	l := newLabels(labelsFrom)
	for i := range ownLabel {
		l.of(fmt.Sprintf("first-%02d", i), 10)
	}
	return &l
}

func TestThoseWithTheMostToDoGetTheLabels(t *testing.T) {
	l := manyLabels()
	if got := l.of("late", 1); got != otherLabel {
		t.Fatalf("one too many has the label %q", got)
	}
	l.look(labelsFrom.Add(labelsEvery))
	l.of("busy", 1_000_000)
	if l.look(labelsFrom.Add(labelFor - time.Second)); l.has("busy") {
		t.Error("a label was given away before its time")
	}
	if l.look(labelsFrom.Add(labelFor + labelsEvery)); !l.has("busy") || l.has("late") || len(l.since) != ownLabel {
		t.Errorf("busy has a label: %t, late: %t, of %d; want the busy one to have one of %d", l.has("busy"), l.has("late"), len(l.since), ownLabel)
	}
	if got := l.of("busy", 1); got != "busy" {
		t.Errorf("its label is %q", got)
	}
}

func TestLabelsDoNotFlicker(t *testing.T) {
	l := manyLabels()
	for i := range 10 {
		l.of(fmt.Sprintf("equal-%d", i), 15) // more than the first, and not twice as much
	}
	for i := range 100 {
		l.look(labelsFrom.Add(time.Duration(i) * labelsEvery))
	}
	for i := range ownLabel {
		if name := fmt.Sprintf("first-%02d", i); !l.has(name) {
			t.Errorf("%s lost its label to one that hardly has more to do", name)
		}
	}
	l = manyLabels()
	for i := range 30 {
		l.of(fmt.Sprintf("busy-%d", i), 1000)
	}
	l.look(labelsFrom.Add(labelFor))
	if n := len(l.former); n != mostGiven {
		t.Errorf("%d labels were given away at once, want %d", n, mostGiven)
	}
}

func TestTheWorkOfThePastCountsLess(t *testing.T) {
	l := manyLabels()
	l.of("once", 1000)
	now := labelsFrom
	for range 20 * 60 {
		now = now.Add(labelsEvery)
		for i := range ownLabel {
			l.of(fmt.Sprintf("first-%02d", i), 100)
		}
		l.look(now)
	}
	if l.has("once") || l.scores["once"] > 1 {
		t.Errorf("a thousand items of yesterday count %v, and have a label: %t", l.scores["once"], l.has("once"))
	}
}

func TestTheCountersOfALabelNeverGoBackAndAreAll(t *testing.T) {
	c := New(1, nil)
	c.tenants = newLabels(labelsFrom)
	rng, now := rand.New(rand.NewPCG(1, 2)), labelsFrom
	seen, total, changes := map[string]int64{}, int64(0), 0
	for minute := range 600 {
		now = now.Add(labelsEvery)
		c.relabel(now)
		for range 100 {
			// The busy ones move on through all tenants as time goes by.
			f := finish{"call", fmt.Sprintf("t%d", minute/3+rng.IntN(80)), "done"}
			n := 1 + rng.Int64N(1000)
			total += n
			c.Add(&Counter{finished: map[finish]int64{f: n}})
		}
		shown := 0
		for f, n := range c.finished {
			if !c.tenants.shown(f.tenant) {
				continue
			}
			if shown++; n < seen[f.tenant] {
				t.Fatalf("minute %d: the counter of %s went from %d to %d", minute, f.tenant, seen[f.tenant], n)
			}
			if _, known := seen[f.tenant]; !known {
				changes++
			}
			seen[f.tenant] = n
		}
		if shown > ownLabel+1 {
			t.Fatalf("minute %d: %d labels, want at most %d", minute, shown, ownLabel+1)
		}
	}
	sum := int64(0)
	for _, n := range c.finished {
		sum += n
	}
	if sum != total {
		t.Errorf("all counters together are %d, want %d", sum, total)
	}
	if changes < 2*ownLabel {
		t.Errorf("%d labels were given in ten hours of moving work: the test is about more", changes)
	}
}

func TestMemoryForLabelsIsBounded(t *testing.T) {
	l := manyLabels()
	for i := range 2 * mostScored {
		l.of(fmt.Sprint(i), int64(i))
	}
	l.look(labelsFrom.Add(labelFor))
	if n := len(l.scores); n > mostScored {
		t.Errorf("%d tenants are scored, want at most %d", n, mostScored)
	}
	l = manyLabels()
	now, forgotten := labelsFrom.Add(labelFor), 0
	for i := range mostFormer + ownLabel {
		l.of(fmt.Sprint("next-", i), int64(i+1)*1e9)
		now = now.Add(labelFor)
		forgotten += len(l.look(now))
	}
	if n := len(l.former); n > mostFormer || forgotten == 0 {
		t.Errorf("%d that lost their label are kept and %d were forgotten, want at most %d kept", n, forgotten, mostFormer)
	}
}
