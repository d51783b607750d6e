package due

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

type job = Job[struct{}]

// at is a job of a tenant at a host. A target is both.
func at(id, tenant, host string, due time.Time) job {
	return job{ID: id, At: due, Target: tenant + "@" + host, Host: host}
}

// Whatever is added, moved and ends in whatever order: no target and no host has more under way
// than it may, no job is lost or given twice, none is given early, and none waits
// while it could go.
func TestQueueKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, now := newQueue[struct{}](5, 2, 3), noon
		waiting, running := map[string]job{}, map[string]job{}
		busy := func(same func(job) bool) (n int) {
			for _, j := range running {
				if same(j) {
					n++
				}
			}
			return n
		}
		free := func(j job) bool {
			return len(running) < 5 && busy(func(o job) bool { return o.Target == j.Target }) < 2 && busy(func(o job) bool { return o.Host == j.Host }) < 3
		}
		due := func(t *rapid.T) time.Time {
			return now.Add(time.Duration(rapid.IntRange(-5, 20).Draw(t, "due")) * time.Second)
		}
		made := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				made++
				j := at(fmt.Sprint(made), rapid.SampledFrom([]string{"t", "u"}).Draw(t, "tenant"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "host"), due(t))
				if !q.add(j, false) || q.add(j, false) {
					t.Fatal("a job was not taken, or taken twice")
				}
				waiting[j.ID] = j
			},
			"move": func(t *rapid.T) {
				if len(waiting)+len(running) == 0 {
					return
				}
				id := rapid.SampledFrom(append(slices.Sorted(maps.Keys(waiting)), slices.Sorted(maps.Keys(running))...)).Draw(t, "moved")
				j, queued := waiting[id]
				if !queued {
					j = running[id]
				}
				j.At = due(t)
				if q.add(j, false) {
					if !queued {
						t.Fatal("a job was moved while it was under way")
					}
					waiting[id] = j
				}
			},
			"wait": func(*rapid.T) { now = now.Add(3 * time.Second) },
			"next": func(t *rapid.T) {
				j, ok := q.next(now)
				if !ok {
					for _, w := range waiting {
						if !w.At.After(now) && free(w) {
							t.Fatalf("%+v could go", w)
						}
					}
					return
				}
				if _, there := waiting[j.ID]; !there || j.At.After(now) || !free(j) {
					t.Fatalf("%+v must not go", j)
				}
				delete(waiting, j.ID)
				running[j.ID] = j
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

func TestTheJobThatIsDueForLongestGoesFirst(t *testing.T) {
	q := newQueue[struct{}](0, 1, 0)
	for i, id := range []string{"c", "a", "b"} {
		q.add(at(id, "t", "h", noon.Add(time.Duration([]int{3, 1, 2}[i])*time.Second)), false)
	}
	got := ""
	for j, ok := q.next(noon.Add(time.Minute)); ok; j, ok = q.next(noon.Add(time.Minute)) {
		got += j.ID
		q.done(j)
	}
	if got != "abc" {
		t.Errorf("order = %s, want abc", got)
	}
}

func TestAHeldJobIsNotMoved(t *testing.T) {
	q := newQueue[struct{}](0, 0, 0)
	q.add(at("a", "", "", noon.Add(time.Minute)), true)
	if q.add(at("a", "", "", noon), false) {
		t.Error("a held job was moved")
	}
	if j, ok := q.next(noon); ok {
		t.Errorf("%+v goes while it is held", j)
	}
	if _, ok := q.next(noon.Add(time.Minute)); !ok {
		t.Error("it does not go after that")
	}
}

func TestALaneWithManyJobsCrowdsNoOtherOut(t *testing.T) {
	q := newQueue[struct{}](0, 2, 16)
	for i := range 10 * maxPerTarget {
		q.add(at(fmt.Sprint("slow", i), "a", "h", noon), false)
	}
	if !q.add(at("other", "b", "h", noon.Add(time.Second)), false) {
		t.Fatal("a job of another tenant at the same host was not taken")
	}
	if len(q.known) != maxPerTarget+1 {
		t.Errorf("holds %d jobs, want %d", len(q.known), maxPerTarget+1)
	}
	var targets []string
	for j, ok := q.next(noon.Add(time.Minute)); ok; j, ok = q.next(noon.Add(time.Minute)) {
		targets = append(targets, j.Target)
	}
	if fmt.Sprint(targets) != "[a@h a@h b@h]" {
		t.Errorf("under way are those of %v, want two of a and the one of b", targets)
	}
}

func TestAnEmptyQueueHoldsNothing(t *testing.T) {
	q := newQueue[struct{}](0, 1, 1)
	q.add(at("1", "", "a", noon), false)
	q.add(at("2", "", "a", noon), false)
	for range 2 {
		j, ok := q.next(noon)
		if !ok {
			t.Fatal("no job")
		}
		q.done(j)
	}
	if _, later := q.wakeAt(); later || len(q.targets)+len(q.hosts)+len(q.known)+q.busy > 0 {
		t.Errorf("left are %d targets and %d jobs", len(q.targets), len(q.known))
	}
}
