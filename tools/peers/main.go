package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
)

// figures is what a measurement found out, by name, as weir's own benchmark prints it.
type figures map[string]float64

// contest is one thing that is measured of weir and of a peer.
type contest struct {
	what, unit, key string
	weir, peer      []string // arguments of the child processes
	larger          bool     // is better
}

const million = "1000000"

func contests() []contest {
	through := func(batch string, redis string) []string {
		return []string{"-child", "throughput" + redis, "-items", million, "-batch", batch}
	}
	peer := func(batch string) []string {
		return []string{"-child", "throughput", "-items", million, "-batch", batch}
	}
	one := []string{"-child", "idle", "-items", "2000"}
	return []contest{
		{"1,000,000 items, 100 a task, embedded", "items/s", "per_second", through("100", ""), peer("100"), true},
		{"1,000,000 items, 100 a task, Redis", "items/s", "per_second", through("100", "-redis"), peer("100"), true},
		{"1,000,000 items, 1 a task, embedded", "items/s", "per_second", through("1", ""), peer("1"), true},
		{"1,000,000 items, 1 a task, Redis", "items/s", "per_second", through("1", "-redis"), peer("1"), true},
		{"one item, idle, embedded, p50", "ms", "p50_ms", one, one, false},
		{"one item, idle, Redis, p50", "ms", "p50_ms", []string{"-child", "idle-redis", "-items", "2000"}, one, false},
	}
}

func main() {
	bench := flag.String("weir", "", "weir's own benchmark, as `program`")
	rounds := flag.Int("rounds", 5, "how often each is measured, in turns; the medians are compared")
	only := flag.String("run", "", "measure only what has this `text` in its name")
	child := flag.String("child", "", "internal: the measurement to run in this process")
	items := flag.Int("items", 0, "with -child: number of items")
	batch := flag.Int("batch", 0, "with -child: items in a message")
	dir := flag.String("dir", "", "with -child: an empty directory for the store")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *child != "" {
		err = measure(ctx, *child, *dir, *items, *batch)
	} else {
		err = compare(ctx, *bench, *rounds, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// compare measures weir and the peer in turns, and prints the medians.
func compare(ctx context.Context, bench string, rounds int, only string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("%-44s %14s %14s %8s\n", fmt.Sprintf("medians of %d", rounds), "weir", "NATS", "times")
	for _, c := range contests() {
		if !strings.Contains(c.what, only) {
			continue
		}
		var ours, theirs []float64
		for range rounds {
			a, err := run(ctx, bench, c.weir)
			if err != nil {
				return err
			}
			b, err := run(ctx, self, c.peer)
			if err != nil {
				return err
			}
			ours, theirs = append(ours, a[c.key]), append(theirs, b[c.key])
		}
		a, b := median(ours), median(theirs)
		ahead := a / b
		if !c.larger {
			ahead = b / a
		}
		fmt.Printf("%-44s %14s %14s %7.2fx\n", c.what, write(a, c.unit), write(b, c.unit), ahead)
	}
	return nil
}

// run runs a measurement in a process and a directory of its own.
func run(ctx context.Context, program string, args []string) (f figures, err error) {
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, program, append(args, "-dir", dir)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return f, json.Unmarshal(out, &f)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

func write(x float64, unit string) string {
	if x >= 1000 {
		return strconv.FormatFloat(x/1000, 'f', 0, 64) + " k " + unit
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + " " + unit
}
