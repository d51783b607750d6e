package redisstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// TestAServerThatStartedAgainLetsNodesKeepWhatTheyHold restarts a real one, with and without its data.
func TestAServerThatStartedAgainLetsNodesKeepWhatTheyHold(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	for _, save := range []string{"no", "yes"} {
		t.Run("appendonly="+save, func(t *testing.T) {
			r := testenv.Redis(t, "appendonly", save)
			s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
			defer s.Close()
			l := store.Limit{Resource: "mail", Units: 100, Window: 500 * time.Millisecond}
			hold := func(node string, held int64) (q int64) {
				until(t, "every connection is back", func() bool {
					var err error
					q, err = s.Hold(t.Context(), l, store.Holding{Node: node, Held: held}, ttl)
					return err == nil
				})
				return q
			}
			aim(t, s, l, "b")
			r.Kill()
			r.Restart()
			restarted := time.Now()
			if got := hold("a", 60); got != 60 {
				t.Errorf("quota of who holds 60 = %d, want 60", got)
			}
			until(t, "every connection is back", func() bool {
				_, ok, err := s.Draw(t.Context(), l, 1)
				if ok {
					t.Error("a permit was drawn, want none")
				}
				return err == nil
			})
			var got int64
			until(t, "something is given", func() bool {
				aim(t, s, l, "b") // without its data the server has no targets
				got = hold("b", 0)
				hold("a", 60)
				return got > 0
			})
			if got != 40 {
				t.Errorf("quota of the other = %d, want 40", got)
			}
			if took := time.Since(restarted); took < ttl+l.Window-time.Second { // a server tells its age in seconds
				t.Errorf("it gave something new after %v, want to wait for %v", took, ttl+l.Window)
			}
		})
	}
}

// TestANewServerGivesAtOnceIfItKeepsItsData asks one that is younger than a lease.
func TestANewServerGivesAtOnceIfItKeepsItsData(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t, "appendonly", "yes", "appendfsync", "always")
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}})
	defer s.Close()
	l, ttl := store.Limit{Resource: "mail", Units: 12}, time.Hour // no server is older
	hold := func(node string, held int64) (q int64) {
		until(t, "every connection is back", func() bool {
			var err error
			q, err = s.Hold(t.Context(), l, store.Holding{Node: node, Held: held}, ttl)
			return err == nil
		})
		return q
	}
	aim(t, s, l, "a")
	if got := hold("a", 0); got != 12 {
		t.Errorf("quota on a new server = %d, want 12", got)
	}
	r.Kill()
	r.Restart()
	aim(t, s, l, "b")
	if got := hold("b", 0); got != 0 {
		t.Errorf("quota of another, when the server has started again = %d, want 0", got)
	}
	if got := hold("a", 12); got != 0 {
		t.Errorf("quota of the node that holds 12 and should have none = %d, want 0", got)
	}
	if got := hold("a", 0); got != 0 {
		t.Errorf("quota of the node that holds nothing any more = %d, want 0", got)
	}
	if got := hold("b", 0); got != 12 {
		t.Errorf("quota of another once all is free = %d, want 12", got)
	}
}

// aim lets one node have everything.
func aim(t *testing.T, s store.Store, l store.Limit, node string) {
	t.Helper()
	until(t, "every connection is back", func() bool {
		return s.SetTargets(t.Context(), l, 1, map[string]int64{node: l.Units}) == nil
	})
}

// BenchmarkQuotas is one call after the other on an idle server, on which so
// many nodes hold something and permits are drawn all the time.
func BenchmarkQuotas(b *testing.B) {
	r := testenv.Redis(b)
	s := open(b, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	for _, nodes := range []int{1, 16, 64} {
		l := store.Limit{Resource: fmt.Sprint("mail-", nodes), Units: 1 << 40, Window: time.Second}
		targets := map[string]int64{}
		for i := range nodes {
			targets[fmt.Sprint("node-", i)] = 5
		}
		if err := s.SetTargets(b.Context(), l, 1, targets); err != nil {
			b.Fatal(err)
		}
		for q := int64(0); q == 0; { // the server learns
			q, _ = s.Hold(b.Context(), l, store.Holding{Node: "node-0"}, time.Millisecond)
		}
		hold := func(i int) error {
			_, err := s.Hold(b.Context(), l, store.Holding{Node: fmt.Sprint("node-", i%nodes), Held: 5, Used: 5, Want: 9}, time.Minute)
			return err
		}
		draw := func(int) error {
			_, _, err := s.Draw(b.Context(), l, 1)
			return err
		}
		for i := range nodes {
			if err := hold(i); err != nil {
				b.Fatal(err)
			}
		}
		for _, call := range []struct {
			name string
			run  func(i int) error
		}{{"hold", hold}, {"draw", draw}} {
			b.Run(fmt.Sprintf("%s/nodes=%d", call.name, nodes), func(b *testing.B) {
				r.Do("CONFIG", "RESETSTAT")
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if err := call.run(i); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(perCall(b, r), "server-µs")
			})
		}
	}
}

// perCall returns the server's time per call of a script, in microseconds.
func perCall(t testing.TB, r *testenv.Server) float64 {
	t.Helper()
	_, after, _ := strings.Cut(r.Do("INFO", "commandstats"), "cmdstat_evalsha:")
	_, after, _ = strings.Cut(after, "usec_per_call=")
	text, _, _ := strings.Cut(after, ",")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
