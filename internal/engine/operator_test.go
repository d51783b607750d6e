package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// The store is not shared, so the engine is of this process; the operator knows nothing of it.
func TestLimitsOfAnOperatorWithoutAnEngineAreInForceWhenTheChangeIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := memory(), time.Now()
		o := engine.NewOperator(s)
		pause := func(on bool) {
			t.Helper()
			must(t, o.SetLimits(t.Context(), func(l *weir.Limits) { l.Tenants["acme"] = weir.TenantLimits{Paused: on} }))
		}
		pause(true)
		if took := time.Since(asked); took != 0 {
			t.Errorf("answered after %v although no node runs", took)
		}
		r := start(t, s, engine.Options{}, action(noop("noop")))
		time.Sleep(time.Second)
		for _, on := range []bool{false, true, false} {
			asked = time.Now()
			pause(on)
			if got := r.TenantPaused("acme"); got != on {
				t.Errorf("the tenant is paused: %v, want %v", got, on)
			}
			if took := time.Since(asked); took > 100*time.Millisecond {
				t.Errorf("answered after %v", took)
			}
		}
	})
}
