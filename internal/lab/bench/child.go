package main

import (
	"context"
	"encoding/json"
	"errors"
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
}

// flags are those by which a child is told.
func (p params) flags() []string {
	return []string{"-items", strconv.Itoa(p.Items), "-batch", strconv.Itoa(p.Batch), "-flood=" +
		strconv.FormatBool(p.Flood), "-url", p.URL}
}

// figures is what a measurement found out, by name.
type figures map[string]float64

// measurements run in a process of their own, on the store directory that they are given.
var measurements = map[string]func(ctx context.Context, dir string, p params) (figures, error){
	"throughput": measureThroughput,
	"rate":       measureRate,
	"pacing":     measurePacing,
	"fairness":   measureFairness,
	"tiers":      measureTiers,
	"weights":    measureWeights,
	"refusing":   measureRefusing,
	"own":        measureOwn,
	"hung":       measureHung,
	"cancel":     measureCancel,
	"bytes":      measureBytes,
	"fill":       measureFill,
	"takeover":   measureTakeover,
	"body":       measureBody,
	"client":     measureClient,
	"endpoint":   measureEndpoint,
	"segment":    measureSegment,
	"far":        measureFar,
}

// measure runs a measurement in a new process on a new store.
func (b *bench) measure(name string, p params) (figures, error) {
	dir, err := os.MkdirTemp(b.dir, "weir-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the temporary directory: the system removes what stays
	return b.measureIn(dir, name, p)
}

func (b *bench) measureIn(dir, name string, p params) (figures, error) {
	return other(b.ctx, name, p, "-dir", dir)
}

// child is this program as another process that runs a measurement.
func child(ctx context.Context, name string, p params, more ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat([]string{"-child", name}, p.flags(), more)...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// other runs a measurement in another process.
func other(ctx context.Context, name string, p params, more ...string) (figures, error) {
	cmd, err := child(ctx, name, p, more...)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", name, err)
	}
	var f figures
	if err := json.Unmarshal(out, &f); err != nil {
		return nil, fmt.Errorf("measure %s: %w", name, err)
	}
	return f, nil
}

// times repeats a measurement and returns each figure's values.
func (b *bench) times(n int, name string, p params) (map[string][]float64, error) {
	return repeated(n, func() (figures, error) { return b.measure(name, p) })
}

func repeated(n int, measure func() (figures, error)) (map[string][]float64, error) {
	all := map[string][]float64{}
	for range n {
		f, err := measure()
		if err != nil {
			return nil, err
		}
		for k, v := range f {
			all[k] = append(all[k], v)
		}
	}
	return all, nil
}

// serve is the other end of other.
func serve(ctx context.Context, name string, p params, dir, profile string, out io.Writer) (err error) {
	m := measurements[name]
	if m == nil {
		return fmt.Errorf("no measurement %q", name)
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, f.Close())
		}()
	}
	f, err := m(ctx, dir, p)
	if err != nil {
		return err
	}
	f["peak_mib"] = peakMiB()
	return json.NewEncoder(out).Encode(f)
}

// peakMiB is the most memory that this process ever had; 0 where the system does not tell.
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
