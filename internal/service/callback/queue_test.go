package callback

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is added and ends in whatever order: no lane and no host has more under way
// than it may, no job is lost or given twice, none is given early, and none waits
// while it could go.
func TestQueueKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, now := newQueue(2, 3), noon
		waiting, running := map[string]job{}, map[string]job{}
		busy := func(same func(lane) bool) (n int) {
			for _, j := range running {
				if same(j.lane) {
					n++
				}
			}
			return n
		}
		free := func(l lane) bool {
			return busy(func(o lane) bool { return o == l }) < 2 && busy(func(o lane) bool { return o.host == l.host }) < 3
		}
		made := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				made++
				j := job{notice: fmt.Sprint(made), lane: lane{
					tenant: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "tenant"), host: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "host"),
				}}
				j.due = now.Add(time.Duration(rapid.IntRange(-5, 20).Draw(t, "due")) * time.Second)
				if !q.add(j) || q.add(j) {
					t.Fatal("a job was not taken, or taken twice")
				}
				waiting[j.notice] = j
			},
			"wait": func(*rapid.T) { now = now.Add(3 * time.Second) },
			"next": func(t *rapid.T) {
				j, ok := q.next(now)
				if !ok {
					for _, w := range waiting {
						if !w.due.After(now) && free(w.lane) {
							t.Fatalf("%+v could go", w)
						}
					}
					return
				}
				if _, there := waiting[j.notice]; !there || j.due.After(now) || !free(j.lane) {
					t.Fatalf("%+v must not go", j)
				}
				for _, w := range waiting {
					if w.lane == j.lane && w.due.Before(j.due) {
						t.Fatalf("%+v goes before %+v", j, w)
					}
				}
				delete(waiting, j.notice)
				running[j.notice] = j
			},
			"done": func(t *rapid.T) {
				if len(running) == 0 {
					return
				}
				name := rapid.SampledFrom(slices.Sorted(maps.Keys(running))).Draw(t, "ended")
				q.done(running[name])
				delete(running, name)
			},
		})
	})
}

func TestALaneWithManyJobsCrowdsNoOtherOut(t *testing.T) {
	q := newQueue(2, 16)
	slow, other := lane{tenant: "a", host: "h"}, lane{tenant: "b", host: "h"}
	for i := range 10 * maxPerLane {
		q.add(job{notice: fmt.Sprint("slow", i), lane: slow, due: noon})
	}
	if !q.add(job{notice: "other", lane: other, due: noon.Add(time.Second)}) {
		t.Fatal("a job of another tenant at the same host was not taken")
	}
	if len(q.known) != maxPerLane+1 {
		t.Errorf("holds %d jobs, want %d", len(q.known), maxPerLane+1)
	}
	var tenants []string
	for j, ok := q.next(noon.Add(time.Minute)); ok; j, ok = q.next(noon.Add(time.Minute)) {
		tenants = append(tenants, j.lane.tenant)
	}
	if fmt.Sprint(tenants) != "[a a b]" {
		t.Errorf("under way are those of %v, want two of a and the one of b", tenants)
	}
}

func TestAnEmptyQueueHoldsNothing(t *testing.T) {
	q := newQueue(1, 1)
	q.add(job{notice: "1", lane: lane{host: "a"}, due: noon})
	q.add(job{notice: "2", lane: lane{host: "a"}, due: noon})
	for range 2 {
		j, ok := q.next(noon)
		if !ok {
			t.Fatal("no job")
		}
		q.done(j)
	}
	if _, later := q.wakeAt(); later || len(q.lanes)+len(q.hosts)+len(q.known) > 0 {
		t.Errorf("left are %d lanes and %d jobs", len(q.lanes), len(q.known))
	}
}
