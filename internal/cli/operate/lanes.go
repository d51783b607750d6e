// Package operate has the commands for operators: nodes, lanes, workers, scaling and circuits.
//
// They ask a server, or read and write the settings in the store of a fleet directly: a data directory that no
// process uses, or a Redis.
package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// Commands returns the commands that operate a fleet.
func Commands() []command.Command {
	return []command.Command{
		nodesCommand(), fairnessCommand(), lanesCommand(), pinCommand(), unpinCommand(), scalingCommand(), circuitCommand(),
		seriesCommand(), partitionsCommand(),
	}
}

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

func lanesCommand() command.Command {
	return command.Command{
		Use: "lanes [LANE]", Short: "show the lanes, their workers, and the last scaling decision", Long: lanesLong,
		Example: `  weir lanes --server https://weir.example.com --watch
  weir lanes --redis redis://host:6379 --watch
  weir lanes p03/send-message --redis redis://host:6379
  weir lanes -o json`,
		Args: command.Args(0, 1, "LANE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &lanesOptions{}
			fs.BoolVarP(&o.watch, "watch", "w", false, "refresh every second, until interrupted")
			fs.BoolVar(&o.all, "all", false, "show all stored decisions of a lane, not only the newest 20")
			o.format.BindTableOrJSON(fs)
			o.place.bind(fs)
			return o.run
		},
	}
}

// lanesOptions are the flags of weir lanes.
type lanesOptions struct {
	place      place
	format     command.Format
	watch, all bool
}

func (o *lanesOptions) run(ctx context.Context, env *command.Env, args []string) error {
	switch {
	case o.all && len(args) == 0:
		return command.BadUsage("add a lane, as in p03/send-message", "--all is for the decisions of one lane")
	case o.watch && len(args) == 1:
		return command.BadUsage("leave one of them out", "--watch shows all lanes, not %s alone", args[0])
	}
	return o.place.there(ctx, env, o.format, func(ctx context.Context, l *link.Link) error { return o.remoteLanes(ctx, l, args) },
		func(ctx context.Context, d *desk) error {
			switch {
			case len(args) == 1:
				return o.decisions(ctx, d, args[0])
			case o.watch:
				return o.follow(ctx, d)
			}
			return o.once(ctx, d)
		})
}

// once prints the lanes as they are.
func (o *lanesOptions) once(ctx context.Context, d *desk) error {
	b, err := d.measured(ctx)
	if err != nil {
		return err
	}
	if o.format == command.JSON {
		return command.PrintJSON(d.env, b)
	}
	scr := d.env.Screen()
	scr.Print(append([]string{b.headline(scr.Paint)}, b.troubles(scr.Paint)...)...)
	if len(b.Lanes) == 0 {
		scr.Print("  no lane has work in " + d.place)
		return nil
	}
	if !b.running() {
		scr.Print("  no node is running: these are the last decisions")
	}
	p, wide := command.Outward(d.env)
	for _, l := range b.lines(p, wide) {
		fmt.Fprintln(d.env.Stdout, l)
	}
	return nil
}

const watchEvery = time.Second

// follow shows the lanes until ctx ends: drawn again and again on a terminal, and
// one below the other without.
func (o *lanesOptions) follow(ctx context.Context, d *desk) error {
	scr := d.env.Screen()
	keys, restore := scr.Keys()
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
		if err := o.show(d.env, scr, b); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if key == 'q' || key == 'Q' || key == watch.CtrlC {
				return nil
			}
		case <-tick.C:
		}
	}
}

func (o *lanesOptions) show(env *command.Env, scr *term.Screen, b *board) error {
	switch {
	case o.format == command.JSON:
		return json.NewEncoder(env.Stdout).Encode(b)
	case scr.Live():
		scr.Draw(slices.Concat([]string{"", b.headline(scr.Paint)}, b.troubles(scr.Paint), []string{""},
			b.lines(scr.Paint, env.Terminal.Width()), []string{"", scr.Paint.Dim("  q quits")}))
	default:
		fmt.Fprintln(env.Stdout, b.At.Format(time.RFC3339)+b.headline(false))
		for _, l := range slices.Concat(b.troubles(false), b.lines(false, 0)) {
			fmt.Fprintln(env.Stdout, l)
		}
	}
	return nil
}
