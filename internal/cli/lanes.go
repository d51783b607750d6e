package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

const lanesLong = `Shows every lane and its workers. A lane is one resource in one partition.

All figures count tasks, except READY, which counts items if a server is asked.
  PWQD      tasks ready per worker
  NEED      workers that the load would keep busy
  USEFUL    workers that the allowed rate could keep busy at most
  WAIT P99  wait for a worker
  OLDEST    wait of the tenant that has waited longest
The last decision explains the number of workers in one sentence.

With the name of a lane it shows the decisions about that lane, the newest first, with their inputs.
docs/scaling.md tells what to do about each decision.`

func lanesCommand() command {
	return command{
		use: "lanes [LANE]", short: "show the lanes, their workers, and the last scaling decision", long: lanesLong,
		example: `  weir lanes --server https://weir.example.com --watch
  weir lanes --redis redis://host:6379 --watch
  weir lanes p03/send-message --redis redis://host:6379
  weir lanes -o json`,
		args: between(0, 1, "LANE"),
		bind: func(fs *pflag.FlagSet) runner {
			o := &lanesOptions{}
			fs.BoolVarP(&o.watch, "watch", "w", false, "refresh every second, until interrupted")
			fs.BoolVar(&o.all, "all", false, "show all stored decisions of a lane, not only the newest 20")
			o.format.bind(fs)
			o.place.bind(fs)
			return o.run
		},
	}
}

// lanesOptions are the flags of weir lanes.
type lanesOptions struct {
	place      place
	format     outputFormat
	watch, all bool
}

func (o *lanesOptions) run(ctx context.Context, env *Env, args []string) error {
	switch {
	case o.all && len(args) == 0:
		return badUsage("add a lane, as in p03/send-message", "--all is for the decisions of one lane")
	case o.watch && len(args) == 1:
		return badUsage("leave one of them out", "--watch shows all lanes, not %s alone", args[0])
	case o.place.both():
		return errBoth()
	case o.place.meant(env, o.place.flags):
		return o.place.ask(ctx, env, output(o.format), func(ctx context.Context, l *link) error { return o.remoteLanes(ctx, l, args) })
	case len(args) == 1:
		return o.decisions(ctx, env, args[0])
	}
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	d, err := o.place.openDesk(ctx, env)
	if err != nil {
		return err
	}
	if o.watch {
		err = o.follow(ctx, d)
	} else {
		err = o.once(ctx, d)
	}
	return errors.Join(err, d.close())
}

// once prints the lanes as they are.
func (o *lanesOptions) once(ctx context.Context, d *desk) error {
	b, err := d.measured(ctx)
	if err != nil {
		return err
	}
	if o.format == asJSON {
		return printJSON(d.env, b)
	}
	scr := newScreen(d.env)
	scr.print(append([]string{b.headline(scr.paint)}, b.troubles(scr.paint)...)...)
	if len(b.Lanes) == 0 {
		scr.print("  no lane has work in " + d.place)
		return nil
	}
	if !b.running() {
		scr.print("  no node is running: these are the last decisions")
	}
	p, wide := outward(d.env)
	for _, l := range b.lines(p, wide) {
		fmt.Fprintln(d.env.Stdout, l)
	}
	return nil
}

const watchEvery = time.Second

// follow shows the lanes until ctx ends: drawn again and again on a terminal, and
// one below the other without.
func (o *lanesOptions) follow(ctx context.Context, d *desk) error {
	scr := newScreen(d.env)
	keys, restore := scr.keys()
	defer restore()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var b *board
	for {
		next, err := d.look(ctx, b)
		if ctx.Err() != nil {
			return nil // that is how it ends
		}
		if err != nil {
			return err
		}
		b = next
		if err := o.show(scr, b); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if key == 'q' || key == 'Q' || key == ctrlC {
				return nil
			}
		case <-tick.C:
		}
	}
}

func (o *lanesOptions) show(scr *screen, b *board) error {
	switch {
	case o.format == asJSON:
		return json.NewEncoder(scr.env.Stdout).Encode(b)
	case scr.live():
		scr.draw(slices.Concat([]string{"", b.headline(scr.paint)}, b.troubles(scr.paint), []string{""},
			b.lines(scr.paint, scr.env.Terminal.Width()), []string{"", scr.paint.dim("  q quits")}))
	default:
		fmt.Fprintln(scr.env.Stdout, b.At.Format(time.RFC3339)+b.headline(false))
		for _, l := range slices.Concat(b.troubles(false), b.lines(false, 0)) {
			fmt.Fprintln(scr.env.Stdout, l)
		}
	}
	return nil
}

// outputFormat is table or json.
type outputFormat string

const (
	asTable outputFormat = "table"
	asJSON  outputFormat = "json"
)

func (f *outputFormat) bind(fs *pflag.FlagSet) {
	*f = asTable
	fs.VarP(f, "output", "o", "table or json")
}

// Set implements pflag.Value.
func (f *outputFormat) Set(s string) error {
	if *f = outputFormat(s); *f != asTable && *f != asJSON {
		return fmt.Errorf("%q is not a format; use table or json", s)
	}
	return nil
}

// String implements pflag.Value.
func (f *outputFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (*outputFormat) Type() string { return "FORMAT" }

// printJSON writes a result for programs.
func printJSON(env *Env, v any) error {
	e := json.NewEncoder(env.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// outward returns how to write a result to stdout: coloured and as wide as the terminal
// if it goes there, plain and as wide as it is if it goes to a file or a program.
func outward(env *Env) (p paint, wide int) {
	if f, ok := env.Stdout.(*os.File); env.Terminal == nil || ok && !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	return paint(!env.NoColour), env.Terminal.Width()
}
