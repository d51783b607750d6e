package sim

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/block"
	"go.uber.org/goleak"
)

var (
	seeds     = flag.Int("seeds", 2000, "number of seeds to simulate")
	from      = flag.Uint64("from", fromEnv(), "first seed; default: WEIR_SIM_FROM, or 1")
	oneSeed   = flag.Uint64("seed", 0, "simulate this seed alone")
	showTrace = flag.Bool("show", false, "with -seed: print the whole trace")
)

// fromEnv lets CI choose other seeds each time.
func fromEnv() uint64 {
	n, err := strconv.ParseUint(os.Getenv("WEIR_SIM_FROM"), 10, 64)
	if err != nil {
		return 1
	}
	return n
}

// TestMain lets garbage gather: a world is small and soon over, and collecting
// it early is a third of the time otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	goleak.VerifyTestMain(m)
}

func newCodec(t testing.TB) *block.Codec {
	t.Helper()
	c, err := block.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// explain runs a failing seed again with its trace, and returns all that helps to understand it.
func explain(t *testing.T, seed uint64, codec *block.Codec) string {
	f := Run(t.Context(), seed, codec, true).Failure
	if f == nil {
		return "it does not fail when it is run again: the simulation is not deterministic"
	}
	events := f.Events[max(0, len(f.Events)-50):]
	return f.Error() + "\n" + strings.Join(events, "\n") + "\nreplay: go test ./internal/lab/sim -run Seeds -seed=" + strconv.FormatUint(seed, 10) + " -show"
}

func TestSeedsHoldEveryInvariant(t *testing.T) {
	codec := newCodec(t)
	if *oneSeed != 0 {
		r := Run(t.Context(), *oneSeed, codec, true)
		if *showTrace {
			t.Log("\n" + strings.Join(r.Trace, "\n"))
		}
		t.Logf("%d items, %d events, trace hash %016x", r.Items, r.Events, r.Hash)
		if r.Failure != nil {
			t.Fatal(explain(t, *oneSeed, codec))
		}
		return
	}
	began := time.Now()
	met := simulate(t, codec, *from, *seeds)
	t.Logf("%d seeds in %v", *seeds, time.Since(began).Round(time.Millisecond))
	if *seeds < 2000 {
		return
	}
	for s, n := range met {
		if n == 0 {
			t.Errorf("situation %q was never met", Situation(s))
		}
	}
	t.Log(met.String())
}

// simulate runs seeds, each hundredth twice, and stops after a few that fail.
func simulate(t *testing.T, codec *block.Codec, first uint64, n int) (met Met) {
	var mu sync.Mutex
	failed := 0
	eachSeed(first, n, func(seed uint64) bool {
		r := Run(t.Context(), seed, codec, false)
		if seed%100 == 0 {
			if again := Run(t.Context(), seed, codec, false); again.Hash != r.Hash {
				t.Errorf("seed %d: trace hash %x, then %x: not deterministic", seed, r.Hash, again.Hash)
			}
		}
		if r.Failure != nil {
			t.Error(explain(t, seed, codec))
		}
		mu.Lock()
		defer mu.Unlock()
		met.Add(&r.Met)
		if r.Failure != nil {
			failed++
		}
		return failed < 3
	})
	return met
}

// eachSeed calls do with n seeds on all processors, while it returns true.
func eachSeed(first uint64, n int, do func(seed uint64) bool) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if !do(first + uint64(i)) {
					next.Store(int64(n))
				}
			}
		})
	}
	wg.Wait()
}

// TestKeptSeeds runs the seeds that failed once. Each file is named by its seed
// and says in a sentence what it found.
func TestKeptSeeds(t *testing.T) {
	codec := newCodec(t)
	files, err := filepath.Glob("testdata/seeds/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			seed, err := strconv.ParseUint(filepath.Base(f), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if Run(t.Context(), seed, codec, false).Failure != nil {
				t.Error(explain(t, seed, codec))
			}
		})
	}
}
