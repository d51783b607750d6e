package engine_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
)

// Tenants of four tiers flood one rate on three nodes. Their work lies where it happens to lie. How near shares come to
// the ideal over a longer time is what experiment E19 measures.
func TestTiersHoldOverNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got, began := map[string]float64{}, time.Now()
		a := weir.Action[int, string]{Name: "limited", Resource: weir.Resource{Rate: weir.PerSecond(2400)}, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			if time.Since(began) > 6*time.Second { // the nodes know of each other's work
				mu.Lock()
				got[b.Tenant()] += float64(b.Len())
				mu.Unlock()
			}
			b.DoneRest()
			return nil
		}}
		three := nodes(t, several{memory()}, 3, a)
		tiers := []weir.Tier{weir.TierCritical, weir.TierHigh, weir.TierDefault, weir.TierLow}
		for _, tier := range tiers {
			for i := range 2 {
				sp := spec(a)
				sp.Tenant, sp.Tier = fmt.Sprint(tier, "-", i), tier
				submit(t, three[i], sp, numbers(60_000))
			}
		}
		time.Sleep(60 * time.Second)
		stopAll(t, three)
		all := 0.0
		for _, n := range got {
			all += n
		}
		for k, weight := range []float64{6, 3, 2, 1} {
			share := (got[fmt.Sprint(tiers[k], "-", 0)] + got[fmt.Sprint(tiers[k], "-", 1)]) / all
			if math.Abs(share-weight/12) > 0.15*weight/12 {
				t.Errorf("%s tenants have %.4f of the rate, want %.4f", tiers[k], share, weight/12)
			}
		}
	})
}
