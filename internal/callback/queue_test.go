package callback

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is added and ends in whatever order: no host has more under way than
// it may, no job is lost or given twice, none is given early, and none waits
// while it could go.
func TestQueueKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, now := newQueue(2), noon
		waiting, running := map[string]job{}, map[string]job{}
		busy := func(host string) (n int) {
			for _, j := range running {
				if j.host == host {
					n++
				}
			}
			return n
		}
		made := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				made++
				j := job{notice: fmt.Sprint(made), host: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "host")}
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
						if !w.due.After(now) && busy(w.host) < 2 {
							t.Fatalf("%+v could go", w)
						}
					}
					return
				}
				if _, there := waiting[j.notice]; !there || j.due.After(now) || busy(j.host) >= 2 {
					t.Fatalf("%+v must not go", j)
				}
				for _, w := range waiting {
					if w.host == j.host && w.due.Before(j.due) {
						t.Fatalf("%+v goes before %+v", j, w)
					}
				}
				delete(waiting, j.notice)
				running[j.notice] = j
			},
			"done": func(*rapid.T) {
				for name, j := range running {
					q.done(j)
					delete(running, name)
					return
				}
			},
		})
	})
}

func TestAHostWithManyJobsCrowdsNobodyOut(t *testing.T) {
	q := newQueue(2)
	for i := range 10 * maxPerHost {
		q.add(job{notice: fmt.Sprint("slow", i), host: "slow", due: noon})
	}
	if !q.add(job{notice: "other", host: "other", due: noon.Add(time.Second)}) {
		t.Fatal("a job of another host was not taken")
	}
	if len(q.known) != maxPerHost+1 {
		t.Errorf("holds %d jobs, want %d", len(q.known), maxPerHost+1)
	}
	var hosts []string
	for j, ok := q.next(noon.Add(time.Minute)); ok; j, ok = q.next(noon.Add(time.Minute)) {
		hosts = append(hosts, j.host)
	}
	if fmt.Sprint(hosts) != "[slow slow other]" {
		t.Errorf("under way are %v, want two slow and the other", hosts)
	}
}

func TestAnEmptyQueueHoldsNothing(t *testing.T) {
	q := newQueue(1)
	q.add(job{notice: "1", host: "a", due: noon})
	q.add(job{notice: "2", host: "a", due: noon})
	for range 2 {
		j, ok := q.next(noon)
		if !ok {
			t.Fatal("no job")
		}
		q.done(j)
	}
	if _, later := q.wakeAt(); later || len(q.hosts)+len(q.known) > 0 {
		t.Errorf("left are %d hosts and %d jobs", len(q.hosts), len(q.known))
	}
}
