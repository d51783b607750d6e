package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
)

// params is what a measurement is told.
type params struct {
	Items int
	Batch int
	Flood bool
	URL   string // of the other process
	Log   string // how a Redis syncs its log
}

// flags returns those by which a child is told.
func (p params) flags() []string {
	return []string{"-items", strconv.Itoa(p.Items), "-batch", strconv.Itoa(p.Batch), "-flood=" +
		strconv.FormatBool(p.Flood), "-url", p.URL, "-log", p.Log}
}

// figures is what a measurement found out, by name.
type figures map[string]float64

// measurements run in a process of their own, on the store directory that they are given.
var measurements = map[string]func(ctx context.Context, dir string, p params) figures{
	"throughput":       measureThroughput,
	"rate":             measureRate,
	"pacing":           measurePacing,
	"fairness":         measureFairness,
	"tiers":            measureTiers,
	"weights":          measureWeights,
	"refusing":         measureRefusing,
	"own":              measureOwn,
	"hung":             measureHung,
	"cancel":           measureCancel,
	"bytes":            measureBytes,
	"fill":             measureFill,
	"takeover":         measureTakeover,
	"body":             measureBody,
	"draft":            measureDraft,
	"client":           measureClient,
	"endpoint":         measureEndpoint,
	"segment":          measureSegment,
	"far":              measureFar,
	"past":             measurePast,
	"pages":            measurePages,
	"browse":           measureBrowse,
	"viewers":          measureViewers,
	"small":            measureSmall,
	"creates":          measureCreates,
	"creators":         measureCreators,
	"redis-rate":       measureRedisRate,
	"keep":             measureKeep,
	"kept":             measureKept,
	"asking":           measureAsking,
	"redis-cost":       measureRedisCost,
	"redis-idle":       measureRedisIdle,
	"flat-items":       measureFlatItems,
	"flat-tenants":     measureFlatTenants,
	"flat-kept":        measureFlatKept,
	"idle":             measureIdle,
	"idle-redis":       measureIdleRedis,
	"throughput-redis": measureThroughputRedis,
}

// broken is the error for which a measurement ends.
type broken struct{ error }

// must ends the measurement on an error, as a test ends on one: without what failed there is nothing to measure.
func must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

// sure returns x, or ends the measurement on an error.
func sure[T any](x T, err error) T {
	must(err)
	return x
}

// until runs do until it returns or a measurement ends, and returns the error of the latter.
func until(do func()) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case broken:
			err = x.error
		default:
			panic(x)
		}
	}()
	do()
	return nil
}

// newDir makes a directory for a store, and returns a function that removes it.
func (b *bench) newDir() (dir string, remove func()) {
	dir = sure(os.MkdirTemp(b.dir, "weir-bench-"))
	return dir, func() { _ = os.RemoveAll(dir) } // in the temporary directory: the system removes what stays
}

// measure runs a measurement in a new process on a new store.
func (b *bench) measure(name string, p params) figures {
	dir, remove := b.newDir()
	defer remove()
	return other(b.ctx, name, p, "-dir", dir)
}

// child returns this program as another process that runs a measurement.
func child(ctx context.Context, name string, p params, more ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, sure(os.Executable()), slices.Concat([]string{"-child", name}, p.flags(), more)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// other runs a measurement in another process.
func other(ctx context.Context, name string, p params, more ...string) (f figures) {
	out, err := child(ctx, name, p, more...).Output()
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		must(fmt.Errorf("measure %s: %w", name, err))
	}
	return f
}

// times repeats a measurement and returns each figure's values.
func (b *bench) times(n int, name string, p params) map[string][]float64 {
	return repeated(n, func() figures { return b.measure(name, p) })
}

func repeated(n int, measure func() figures) map[string][]float64 {
	all := map[string][]float64{}
	for range n {
		for k, v := range measure() {
			all[k] = append(all[k], v)
		}
	}
	return all
}

// serve is the other end of other.
func serve(ctx context.Context, name string, p params, dir, profile string, out io.Writer) error {
	m := measurements[name]
	if m == nil {
		return fmt.Errorf("no measurement %q", name)
	}
	return until(func() {
		if profile != "" {
			f := sure(os.Create(profile))
			must(pprof.StartCPUProfile(f))
			defer func() {
				pprof.StopCPUProfile()
				must(f.Close())
			}()
		}
		f := m(ctx, dir, p)
		f["peak_mib"] = peakMiB()
		must(json.NewEncoder(out).Encode(f))
	})
}

// peakMiB returns the most memory that this process ever had; 0 where the system does not tell.
func peakMiB() float64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, _ := strconv.ParseFloat(kib, 64)
	return n / 1024
}
