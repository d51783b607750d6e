package series

import (
	"log/slog"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/fleet"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store/memstore"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time of these tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// onStore returns series on an empty store, for what needs no engine.
func onStore(t *testing.T) *Series {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return &Series{every: every, log: slog.New(slog.DiscardHandler),
		windows: records.New[window](s, "series"), lives: records.New[life](s, "bulk_series")}
}

// wrote stores what a node measured at a time: so many done on a resource, and with one worker if it leads.
func wrote(t *testing.T, s *Series, node string, at time.Time, resource string, n int64, leads bool) {
	t.Helper()
	start := at.Truncate(s.windowLen())
	_, err := s.windows.Put(t.Context(), windowName(start, node), func(w *window, found bool) error {
		o := &opened{start, series.New(fleetMeasures, start, s.every, 0), map[string]*series.Series{}}
		if found {
			old, err := series.Decode(fleetMeasures, w.All)
			if err != nil {
				return err
			}
			o.all = old
			for name, b := range w.Resources {
				if o.resources[name], err = series.Decode(fleetMeasures, b); err != nil {
					return err
				}
			}
		}
		v := counts(fleetMeasures, engine.Tally{Done: n, Calls: 1})
		if leads {
			levels(v, &fleet.Level{Workers: 1, InFlight: 2, Ready: 3, Oldest: time.Minute})
		}
		i := o.all.Index(at)
		o.add(i, "", v)
		o.add(i, resource, v)
		*w = o.encode()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
