package outside

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/operate"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

func TestAnOperatorWithAndWithoutAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), memstore.New(memstore.Options{})
		alone := operate.New(s)
		if _, err := alone.Partitions(ctx); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("partitions of an empty store: %v", err)
		}
		eng := start(t, s, slow)
		o := eng.Operator()
		b := get[*engine.BulkAction](t)(engine.Submit(ctx, eng, slow, engine.Items(users()[:3]), weir.Spec{Tenant: "acme"}))
		time.Sleep(1500 * time.Millisecond)
		if n := get[int](t)(alone.Partitions(ctx)); n != 2 {
			t.Errorf("%d partitions", n)
		}
		if names := get[[]string](t)(o.Resources(ctx)); !slices.Equal(names, []string{"mail"}) {
			t.Errorf("resources %q", names)
		}
		if losses := get[[]weir.Loss](t)(o.Losses(ctx)); len(losses) != 0 {
			t.Errorf("losses %+v", losses)
		}
		limits(t, o, b)
		scaling(t, alone)
		observed(t, o)
	})
}

// limits pauses the tenant: that holds when SetLimits returns.
func limits(t *testing.T, o *operate.Operator, b *engine.BulkAction) {
	t.Helper()
	ctx := t.Context()
	pause := func(on bool) {
		t.Helper()
		ok(t, o.SetLimits(ctx, func(l *weir.Limits) { l.Tenants["acme"] = weir.TenantLimits{Paused: on} }))
	}
	pause(true)
	if l := get[weir.Limits](t)(o.Limits(ctx)); !l.Tenant("acme").Paused {
		t.Errorf("limits = %+v", l)
	}
	time.Sleep(5 * time.Second)
	if p := get[weir.Progress](t)(b.Now(ctx)); p.Counts.Ended() == 3 {
		t.Error("it ended although its tenant is paused")
	}
	pause(false)
	if rep := get[*engine.Report](t)(b.Wait(ctx)); rep.Counts.Done != 3 {
		t.Errorf("%+v", rep.Counts)
	}
	if err := o.SetLimits(ctx, func(l *weir.Limits) { l.Tenants["acme"] = weir.TenantLimits{Weight: -1} }); err == nil {
		t.Error("a negative weight was taken")
	}
}

func scaling(t *testing.T, o *operate.Operator) {
	t.Helper()
	ctx, lane := t.Context(), weir.LaneID{Partition: 0, Resource: "mail"}
	ok(t, o.SetScaling(ctx, func(s *weir.Scaling) { s.Min = 3 }))
	ok(t, o.Pin(ctx, lane, 5, time.Hour, "a test"))
	ok(t, o.OpenCircuit(ctx, "mail", time.Hour, "they deploy"))
	s := get[weir.Scaling](t)(o.Scaling(ctx))
	if s.Min != 3 || s.Pins[lane].Workers != 5 || !s.Circuits["mail"].Open {
		t.Errorf("scaling = %+v", s)
	}
	ok(t, o.CloseCircuit(ctx, "mail", time.Hour, "we know"))
	ok(t, o.FreeCircuit(ctx, "mail"))
	ok(t, o.ProbeCircuit(ctx, "mail"))
	ok(t, o.Unpin(ctx, lane))
	if s := get[weir.Scaling](t)(o.Scaling(ctx)); len(s.Pins)+len(s.Circuits) != 0 {
		t.Errorf("scaling = %+v", s)
	}
}

func observed(t *testing.T, o *operate.Operator) {
	t.Helper()
	ctx := t.Context()
	nodes := get[[]weir.Node](t)(o.Nodes(ctx))
	plan := get[weir.Plan](t)(o.Plan(ctx))
	if len(nodes) != 1 || plan.Leader != nodes[0].Name || len(plan.Lanes) == 0 {
		t.Fatalf("nodes %+v, plan %+v", nodes, plan)
	}
	for _, l := range plan.Lanes {
		if _, err := o.Decisions(ctx, l.Lane, 10); err != nil {
			t.Error(err)
		}
	}
	if _, err := o.Changes(ctx, "mail", 10); err != nil {
		t.Error(err)
	}
}
