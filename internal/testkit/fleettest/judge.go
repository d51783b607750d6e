//go:build unix

package fleettest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/internal/testkit/recorder"
)

// Verdict holds the measurements of a run without broken promises.
type Verdict struct {
	Bulks  int // acknowledged, all of them ended
	Items  int
	Stats  recorder.Stats // over all of them
	Again  int            // submits that had to be made again
	AtRisk int            // repeats that the faults account for
	// Calls is the downstream's log, in the order of answers.
	Calls Calls
}

// String returns one line.
func (v Verdict) String() string {
	planned, sent := v.Calls.Busiest()
	return fmt.Sprintf("%d bulk actions of %d items, %d submits made again; %v; %d late; %d repeats are accounted for; "+
		"longest silence %v, busiest second %d taken up and %d made",
		v.Bulks, v.Items, v.Again, v.Stats, v.Stats.Late, v.AtRisk, v.Calls.Silence().Round(time.Millisecond), planned, sent)
}

// Judge waits until all acknowledged work has ended, ends the fleet cleanly, and
// fails the test for every promise that was broken.
func (f *Fleet) Judge(within time.Duration) Verdict {
	f.t.Helper()
	f.Wait(within)
	v := Verdict{Bulks: len(f.bulks), Again: f.again, AtRisk: f.atRisk}
	f.report()
	for _, n := range f.Nodes {
		if n.Running() {
			if ill := n.Health(); ill != "" {
				f.t.Errorf("node %d is not well at the end: %s", n.number, ill)
			}
			n.Stop()
		} else if !f.disturbed[n.life] && n.process.Wait() != nil {
			f.t.Errorf("node %d ended by itself: %s", n.number, n.end())
		}
	}
	v.Calls = f.calls()
	f.verify(&v)
	f.checkRate(&v)
	f.t.Logf("%v", v)
	return v
}

// jitter is the factor by which a second may exceed the limit: a call is made a moment after it
// was taken up, and that moment varies.
const jitter = 1.02

// checkRate compares the limit with the times at which calls were taken up and made.
func (f *Fleet) checkRate(v *Verdict) {
	f.t.Helper()
	rate := f.config.Rate
	planned, sent := v.Calls.Busiest()
	if rate > 0 && (float64(planned) > rate || float64(sent) > rate*jitter) {
		f.t.Errorf("within a second calls for %d items were taken up and for %d were made, the limit is %v", planned, sent, rate)
	}
}

// report writes the report of every bulk action.
func (f *Fleet) report() {
	f.t.Helper()
	for _, b := range f.bulks {
		ctx, cancel := context.WithTimeout(f.t.Context(), upIn)
		r, err := b.Wait(ctx)
		if err == nil {
			err = r.WriteDir(ctx, f.reportDir(b))
		}
		cancel()
		if err != nil {
			f.t.Fatalf("report of %s: %v", b.ID(), err)
		}
	}
}

func (f *Fleet) reportDir(b *bulk) string { return filepath.Join(f.dir, "reports", string(b.ID())) }

// calls ends the recorder and reads its log.
func (f *Fleet) calls() Calls {
	f.t.Helper()
	defer killIn(upIn, f.recorder)()
	if err := f.recorder.Stop(); err != nil {
		f.t.Fatalf("the recorder did not end within %v: %v", upIn, err)
	}
	file, err := os.Open(f.callLog())
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	calls, err := recorder.ReadLog(file)
	if err != nil {
		f.t.Fatal(err)
	}
	return calls
}

// verify compares the log with each report, and the rest of it with the acknowledgements.
func (f *Fleet) verify(v *Verdict) {
	f.t.Helper()
	by := map[string][]recorder.Entry{}
	for _, e := range v.Calls {
		by[e.Bulk] = append(by[e.Bulk], e)
	}
	keys := map[string]string{}
	for _, b := range f.bulks {
		id := string(b.ID())
		f.verifyOne(v, b, by[id])
		for _, e := range by[id] {
			if other := keys[e.Key]; other != "" && other != id {
				f.t.Errorf("key %s was used by %s and %s", e.Key, other, id)
			}
			keys[e.Key] = id
		}
		delete(by, id)
	}
	for id, calls := range by {
		f.t.Errorf("%d items of %s were called, which no client was told of", len(calls), id)
	}
	if v.Stats.Repeats > f.atRisk {
		f.t.Errorf("%d repeats, at most %d are accounted for", v.Stats.Repeats, f.atRisk)
	}
}

func (f *Fleet) verifyOne(v *Verdict, b *bulk, calls []recorder.Entry) {
	f.t.Helper()
	rep, err := recorder.ReadReport(f.reportDir(b))
	if err != nil {
		f.t.Errorf("report of %s: %v", b.ID(), err)
		return
	}
	s, err := recorder.Verify(calls, rep, recorder.Run{
		Seed: seed, Steps: []string{recorder.Award, recorder.Message}, MaxAttempts: maxAttempts, Bulk: string(b.ID()), Items: b.ids,
		Deaths: f.faults, AtRisk: f.worst, Fleet: &recorder.Fleet{Disturbed: f.disturbed, Zombies: f.zombies, Undone: f.undone},
	})
	if err != nil {
		f.t.Errorf("bulk action %s: %v", b.ID(), err)
	}
	v.Items += b.items
	v.Stats = v.Stats.Add(s)
}
