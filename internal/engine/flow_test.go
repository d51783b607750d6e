package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// downstream is something that an action calls: fine at first.
type downstream struct {
	takes     time.Duration
	failing   atomic.Bool
	slowness  atomic.Int64 // what a call takes beyond that
	calls     atomic.Int64
	inFlight  atomic.Int64
	most      atomic.Int64 // in flight since it was set to 0
	busyUntil atomic.Int64 // it refuses everything until then, and says so
	refused   atomic.Int64
}

func (d *downstream) handle(ctx context.Context, b *weir.Batch[int, string]) error {
	d.calls.Add(1)
	d.most.Store(max(d.most.Load(), d.inFlight.Add(1)))
	defer d.inFlight.Add(-1)
	if until := time.Unix(0, d.busyUntil.Load()); time.Now().Before(until) {
		d.refused.Add(int64(b.Len()))
		return &weir.RefusedError{After: time.Until(until), Err: errors.New("busy")}
	}
	time.Sleep(d.takes + time.Duration(d.slowness.Load()))
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.failing.Load() {
		return errors.New("down")
	}
	b.DoneRest()
	return nil
}

func (d *downstream) action(name string) weir.Action[int, string] {
	return weir.Action[int, string]{Name: name, BatchSize: 10, Handle: d.handle}
}

// resource is what the only node says of a resource.
func (r *rig) resource(t *testing.T, name string) weir.ResourceUse {
	t.Helper()
	nodes, err := r.Operator().Nodes(context.Background())
	if err != nil || len(nodes) == 0 {
		t.Fatal(len(nodes), err)
	}
	for _, u := range nodes[0].Resources {
		if u.Name == name {
			return u
		}
	}
	t.Fatalf("resource %q is not known: %+v", name, nodes[0].Resources)
	return weir.ResourceUse{}
}

// rate is how many calls per second come during a span.
func (d *downstream) rate(span time.Duration) float64 {
	before := d.calls.Load()
	time.Sleep(span)
	return float64(d.calls.Load()-before) / span.Seconds()
}

func TestAnIncidentDownstreamIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick, well := &downstream{takes: 200 * time.Millisecond}, &downstream{takes: 200 * time.Millisecond}
		a, b := sick.action("sick"), well.action("well")
		r := start(t, memory(), engine.Options{Partitions: 1, Slots: 64}, action(a), action(b))
		submit(t, r, spec(a), numbers(400_000))
		submit(t, r, spec(b), numbers(400_000))
		time.Sleep(30 * time.Second)
		full, beside := sick.rate(10*time.Second), well.rate(10*time.Second)
		workers := r.busiest(t).Workers

		sick.failing.Store(true)
		sick.slowness.Store(int64(5 * time.Second))
		time.Sleep(10 * time.Second)
		if got := well.rate(10 * time.Second); got < 0.9*beside {
			t.Errorf("the other resource has %.1f calls per second beside the incident, %.1f before", got, beside)
		}
		if u := r.resource(t, "sick"); u.Circuit == "closed" || u.Text == "" {
			t.Errorf("20 s into the incident: %+v, want a circuit that is not closed", u)
		}
		sick.most.Store(0)
		if got := sick.rate(60 * time.Second); got > full/20 {
			t.Errorf("%.1f calls per second of a downstream that is down, %.1f before", got, full)
		}
		if got := sick.most.Load(); got > 16 {
			t.Errorf("%d calls at once of a downstream that is down, want a few that find out", got)
		}
		for _, l := range r.lanes(t) {
			if l.ID.Resource == "sick" && l.Workers > workers {
				t.Errorf("%d workers in the incident, %d before: it grew into it", l.Workers, workers)
			}
		}

		sick.failing.Store(false)
		sick.slowness.Store(0)
		time.Sleep(30 * time.Second)
		if got := sick.rate(5 * time.Second); got < 0.95*full {
			t.Errorf("%.1f calls per second 30 s after recovery, %.1f before: %+v", got, full, r.resource(t, "sick"))
		}
	})
}

func TestADownstreamThatAsksForItIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &downstream{takes: 10 * time.Millisecond}
		a := d.action("call")
		r := start(t, memory(), engine.Options{Partitions: 2, Slots: 16}, action(a))
		for range 4 {
			submit(t, r, spec(a), numbers(100_000))
		}
		time.Sleep(5 * time.Second)
		d.busyUntil.Store(time.Now().Add(20 * time.Second).UnixNano())
		time.Sleep(3 * time.Second)
		if got := d.rate(15 * time.Second); got > 0 {
			t.Errorf("%.2f calls per second although all were told to come back later", got)
		}
		time.Sleep(5 * time.Second)
		if got := d.rate(time.Second); got == 0 {
			t.Errorf("nothing runs when the time is over: %+v", r.resource(t, "call"))
		}
	})
}

func TestOneTenantsLimitIsNotTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls [2]atomic.Int64
		until := time.Now().Add(30 * time.Second)
		a := weir.Action[int, string]{Name: "call", BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			time.Sleep(10 * time.Millisecond)
			if b.Tenant() == "greedy" {
				calls[0].Add(1)
				if time.Now().Before(until) {
					return &weir.RefusedError{After: time.Until(until), OfTenant: true, Err: errors.New("your quota is used up")}
				}
			} else {
				calls[1].Add(1)
			}
			b.DoneRest()
			return nil
		}}
		r := start(t, memory(), engine.Options{Partitions: 1, Slots: 8}, action(a))
		greedy, other := spec(a), spec(a)
		greedy.Tenant, other.Tenant = "greedy", "other"
		first := submit(t, r, greedy, numbers(1000))
		second := submit(t, r, other, numbers(100_000))
		time.Sleep(10 * time.Second)
		if got := calls[0].Load(); got > 8 {
			t.Errorf("a tenant that was refused is called for %d times, want no more than were in flight", got)
		}
		if got := calls[1].Load(); got < 7000 {
			t.Errorf("%d calls for the other tenant in ten seconds of 8 slots and 10 ms, want about 8,000", got)
		}
		if u := r.resource(t, "call"); u.Circuit != "closed" || u.Limited || u.Text != "" {
			t.Errorf("the resource is held down for one tenant's sake: %+v", u)
		}
		for _, b := range []*engine.BulkAction{first, second} {
			rep, err := b.Wait(t.Context())
			if err != nil || rep.Counts.Done != b.Items() {
				t.Errorf("%d of %d done, %v", rep.Counts.Done, b.Items(), err)
			}
		}
	})
}

func TestACircuitIsOpenedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &downstream{takes: 100 * time.Millisecond}
		a := d.action("call")
		r := start(t, memory(), engine.Options{Partitions: 1, Slots: 16}, action(a))
		submit(t, r, spec(a), numbers(150_000))
		time.Sleep(2 * time.Second)
		if err := r.Operator().OpenCircuit(t.Context(), "call", 30*time.Second, "they deploy"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if got := d.rate(20 * time.Second); got > 0 {
			t.Errorf("%.1f calls per second through a circuit that was opened by hand", got)
		}
		if u := r.resource(t, "call"); u.Circuit != "open" || u.CircuitUntil.IsZero() {
			t.Errorf("%+v", u)
		}
		time.Sleep(15 * time.Second)
		if got := d.rate(5 * time.Second); got == 0 {
			t.Error("nothing runs when the time is over")
		}
		if err := r.Operator().OpenCircuit(t.Context(), "nobody", time.Minute, "x"); err == nil {
			t.Error("a circuit of a resource that is not there was opened")
		}
		d.failing.Store(true)
		if err := r.Operator().CloseCircuit(t.Context(), "call", time.Minute, "we know"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := d.rate(5 * time.Second); got < 10 {
			t.Errorf("%.1f calls per second through a circuit that was closed by hand", got)
		}
		if err := r.Operator().FreeCircuit(t.Context(), "call"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if u := r.resource(t, "call"); u.Circuit == "closed" {
			t.Errorf("left to itself, a circuit stays closed over failures: %+v", u)
		}
		changes, err := r.Operator().Changes(t.Context(), "call", 100)
		if err != nil || len(changes) < 3 {
			t.Fatalf("%d changes are stored, %v; want those of the hand and of the failures", len(changes), err)
		}
		if first := changes[len(changes)-1]; first.Circuit != "open" || !strings.Contains(first.Text, "they deploy") {
			t.Errorf("the first change is %+v, want the circuit opened by hand, and why", first)
		}
	})
}

// TestAnOutageFailsNoItem: a call that finds out whether the downstream is back costs
// its items no attempt.
func TestAnOutageFailsNoItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &downstream{takes: 100 * time.Millisecond}
		a := d.action("call")
		a.Resource.Rate = 100
		r := start(t, memory(), engine.Options{Partitions: 2, Slots: 16}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		time.Sleep(9 * time.Second)
		d.failing.Store(true)
		time.Sleep(10 * time.Minute)
		d.failing.Store(false)
		began := time.Now()
		rep := wait(t, b)
		if took := time.Since(began); rep.Counts.Done != 1000 || took > time.Minute {
			t.Errorf("%d of 1,000 done and %d failed, %v after the outage", rep.Counts.Done, rep.Counts.Failed, took)
		}
	})
}

// TestAnItemThatIsNotReadyHoldsUpNoOther: an answer that asks for another attempt is
// about its item, and no failure of the downstream.
func TestAnItemThatIsNotReadyHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{Name: "call", BatchSize: 10, Resource: weir.Resource{Rate: 1000}}
		a.Handle = func(_ context.Context, b *weir.Batch[int, string]) error {
			for i := range b.Items() {
				if b.Attempt() == 1 {
					b.Retry(i, errors.New("not yet"), 0)
				}
			}
			b.DoneRest()
			return nil
		}
		r := start(t, memory(), engine.Options{Partitions: 1, Slots: 16}, action(a))
		began := time.Now()
		rep := wait(t, submit(t, r, spec(a), numbers(4000)))
		if took := time.Since(began); rep.Counts.Done != 4000 || took > 30*time.Second {
			t.Errorf("%d of 4,000 done in %v: %+v", rep.Counts.Done, took, r.resource(t, "call"))
		}
	})
}

// narrow takes so many items a second, and refuses the others.
type narrow struct {
	mu              sync.Mutex
	capacity, depth float64 // items per second, and items that it saves up
	saved           float64
	at              time.Time
	taken, refused  int
}

func (n *narrow) handle(_ context.Context, b *weir.Batch[int, string]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.saved = min(n.saved+now.Sub(n.at).Seconds()*n.capacity, n.depth)
	n.at = now
	if items := float64(b.Len()); items > n.saved {
		n.refused += b.Len()
		return &weir.RefusedError{After: time.Second, Err: errors.New("too many")}
	}
	n.saved -= float64(b.Len())
	n.taken += b.Len()
	b.DoneRest()
	return nil
}

func TestARateIsLearnedFromRefusals(t *testing.T) {
	for _, rule := range []string{"estimate", "aimd"} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &narrow{capacity: 800, depth: 160, at: time.Now()}
				a := weir.Action[int, string]{Name: "call", BatchSize: 10, Handle: d.handle}
				o := engine.Options{Partitions: 2, Scaling: weir.Scaling{RateRules: map[string]string{"call": rule}}}
				r := start(t, memory(), o, action(a))
				for range 4 {
					submit(t, r, spec(a), numbers(40_000))
				}
				time.Sleep(30 * time.Second)
				u := r.resource(t, "call")
				if !u.Limited || u.Allowed == 0 || u.Text == "" {
					t.Errorf("after 30 s of refusals: %+v", u)
				}
				d.mu.Lock()
				d.taken, d.refused = 0, 0
				d.mu.Unlock()
				time.Sleep(100 * time.Second)
				d.mu.Lock()
				defer d.mu.Unlock()
				used, refused := float64(d.taken)/80_000, float64(d.refused)/float64(d.taken+d.refused)
				t.Logf("%s: %.1f %% of the capacity used, %.2f %% refused", rule, 100*used, 100*refused)
				if used < 0.9 || refused > 0.02 {
					t.Errorf("%.1f %% of the capacity used and %.2f %% refused, want at least 90 and at most 2", 100*used, 100*refused)
				}
			})
		})
	}
}

// TestWhatIsTooSlowForItsDeadlineSaysSoWhoeverAsks: the newest durable progress tells it, too.
func TestWhatIsTooSlowForItsDeadlineSaysSoWhoeverAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{Name: "call", BatchSize: 10, Resource: weir.Resource{Rate: 10}}
		a.Handle = func(_ context.Context, b *weir.Batch[int, string]) error {
			b.DoneRest()
			return nil
		}
		r := start(t, memory(), engine.Options{Partitions: 1}, action(a))
		s := spec(a)
		s.Deadline = time.Now().Add(20 * time.Second)
		b := submit(t, r, s, numbers(1000))
		time.Sleep(5 * time.Second)
		p, err := b.Now(t.Context())
		must(t, err)
		if !slices.Contains(p.WaitingOn, "late") {
			t.Errorf("1,000 items at 10/s wait on %q after 5 of 20 s, without late", p.WaitingOn)
		}
		must(t, b.Cancel(t.Context(), "seen"))
	})
}

func TestAProbeByHandEndsAnOutageEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := &downstream{takes: 10 * time.Millisecond}
		a := d.action("sick")
		r := start(t, memory(), engine.Options{Partitions: 1, Slots: 8}, action(a))
		submit(t, r, spec(a), numbers(400_000))
		time.Sleep(5 * time.Second)
		began := time.Now()
		d.failing.Store(true)
		time.Sleep(time.Minute) // the circuit is open for up to 10 s at a time by now
		opened := func() weir.ResourceUse {
			for u := r.resource(t, "sick"); ; u = r.resource(t, "sick") {
				if u.Circuit == "open" && time.Until(u.CircuitUntil) > 6*time.Second {
					return u
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		u := opened()
		if o := u.Outage; o == nil || o.Since.Before(began) || o.Since.After(began.Add(10*time.Second)) || o.Failed == 0 ||
			o.Failed > o.Calls || o.Probes < 3 || o.Code == "" {
			t.Errorf("outage %+v, want since when, how many failed, and probes", u.Outage)
		}
		calls := d.calls.Load()
		if err := r.Operator().ProbeCircuit(ctx, "sick"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := d.calls.Load() - calls; got != 1 || r.resource(t, "sick").Circuit != "open" {
			t.Errorf("%d calls, circuit %s; want one probe that failed", got, r.resource(t, "sick").Circuit)
		}
		u = opened()
		d.failing.Store(false)
		if err := r.Operator().ProbeCircuit(ctx, "sick"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if now := r.resource(t, "sick"); now.Circuit != "closed" || now.Outage != nil || !time.Now().Before(u.CircuitUntil) {
			t.Errorf("after a probe by hand that succeeded: %+v, want it closed before %v", now, u.CircuitUntil)
		}
	})
}
