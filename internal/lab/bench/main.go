// Bench measures what weir publishes about itself, on the machine it runs on.
//
//	go run ./internal/lab/bench                     everything, some six minutes
//	go run ./internal/lab/bench -run throughput     one experiment
//
// Every measurement runs in a fresh process of its own on a fresh store on disk,
// with the options that a user gets by default unless the experiment says
// otherwise. Each is repeated; the best is held against the target, and the
// spread is printed beside it. The exit code is 1 when a target is missed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 2
	}
	os.Exit(code)
}

// run is main without the process around it.
func run(ctx context.Context, args []string, out io.Writer) (code int, err error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	pattern := fs.String("run", ".", "run only experiments whose name matches `regexp`")
	repeat := fs.Int("repeat", 3, "how often to measure; long experiments do it once")
	soft := fs.Bool("soft", false, "exit with 0 although a target was missed")
	dir := fs.String("dir", os.TempDir(), "where stores are made: a directory on a real disk")
	plot := fs.String("plot", "", "draw flat or redis-cost into `file`")
	child := fs.String("child", "", "internal: the measurement to run in this process")
	profile := fs.String("cpuprofile", "", "with -child: write a CPU profile to `file`")
	var p params
	fs.IntVar(&p.Items, "items", 0, "with -child: number of items")
	fs.IntVar(&p.Batch, "batch", 0, "with -child: items in a task")
	fs.BoolVar(&p.Flood, "flood", false, "with -child: beside a flood")
	fs.StringVar(&p.URL, "url", "", "with -child: where the other process answers")
	fs.StringVar(&p.Log, "log", "", "with -child: how a Redis syncs its log")
	if err := fs.Parse(args); err != nil {
		return 2, err
	}
	if *child != "" {
		return 0, serve(ctx, *child, p, *dir, *profile, out)
	}
	chosen, err := regexp.Compile(*pattern)
	if err != nil {
		return 2, err
	}
	b := &bench{ctx: ctx, dir: *dir, repeat: max(*repeat, 1), out: out, plot: *plot}
	b.machine()
	for _, x := range experiments {
		if !chosen.MatchString(x.name) {
			continue
		}
		if err := until(func() { x.run(b) }); err != nil {
			return 2, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	b.machine() // was it as quiet as at the beginning?
	if b.missed > 0 && !*soft {
		return 1, nil
	}
	return 0, nil
}
