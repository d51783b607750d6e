package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/config"
)

// byHand are the flags of what a person sets for a time, and has to give a reason for.
type byHand struct {
	place  place
	span   config.Span
	reason string
}

func (h *byHand) bind(fs *pflag.FlagSet) {
	fs.Var(&h.span, "for", "how long it lasts, as in 2h")
	fs.StringVar(&h.reason, "reason", "", "`TEXT` that tells other operators why")
	h.place.bind(fs)
}

// check requires both: a change by hand must have a reason and must expire.
func (h *byHand) check() error {
	switch {
	case h.span == 0:
		return badUsage("add how long it lasts, as in --for 2h", "--for is missing")
	case h.reason == "":
		return badUsage("add why, as in --reason 'flash sale'", "--reason is missing")
	}
	return nil
}

func (h *byHand) until() time.Time { return time.Now().Add(time.Duration(h.span)).UTC() }

// at opens the place, does something there and closes it.
func (p *place) at(ctx context.Context, env *Env, do func(context.Context, *desk) error) error {
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	d, err := p.openDesk(ctx, env)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, d), d.close())
}

func pinCommand() command {
	return command{
		use: "pin LANE", short: "set the workers of a lane for a limited time",
		long: `Sets the number of workers of a lane, regardless of its load, even while scaling is paused. The pin expires after --for.
0 workers stop the lane. The slots of the node still limit all of its lanes together.`,
		example: `  weir pin p03/send-message --workers 12 --for 2h --reason 'flash sale' --redis redis://host:6379`,
		args:    between(1, 1, "LANE"),
		bind: func(fs *pflag.FlagSet) runner {
			h, workers := &byHand{}, fs.Int("workers", 0, "number of workers, `N` >= 0")
			h.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				id, err := parseLane(args[0])
				switch {
				case err != nil:
					return err
				case !fs.Changed("workers"):
					return badUsage("add how many, as in --workers 12", "--workers is missing")
				case *workers < 0:
					return badUsage("write 0 to stop the lane, or more", "--workers: %d is negative", *workers)
				}
				if err := h.check(); err != nil {
					return err
				}
				return h.place.there(ctx, env, func(ctx context.Context, l *link) error { return l.pin(ctx, id, *workers, h) },
					func(ctx context.Context, d *desk) error { return d.pin(ctx, id, *workers, h) })
			}
		},
	}
}

func (d *desk) pin(ctx context.Context, id weir.LaneID, workers int, h *byHand) error {
	if err := d.wantKnown(ctx, id); err != nil {
		return err
	}
	if err := d.engine.Pin(ctx, id, workers, time.Duration(h.span), h.reason); err != nil {
		return err
	}
	scr := newScreen(d.env)
	fmt.Fprintf(d.env.Stdout, "%v is pinned to %s until %s: %s\n", id, plural(int64(workers), "worker", "workers"),
		clockTime(h.until()), h.reason)
	nodes, err := d.engine.Nodes(ctx)
	if err != nil {
		return err
	}
	scr.print("  " + effect(nodes, id, workers))
	scr.print(fmt.Sprintf("  end it early: %s unpin %v%s", d.env.Program, id, d.flags))
	return nil
}

// effect says when a pin is obeyed, and how far.
func effect(nodes []weir.Node, id weir.LaneID, workers int) string {
	for _, n := range nodes {
		if !slices.ContainsFunc(n.Lanes, func(l weir.Lane) bool { return l.ID == id }) {
			continue
		}
		if n.Slots < workers {
			return fmt.Sprintf("applied within a few seconds; its node has %d slots, so at most that many tasks run at once", n.Slots)
		}
		return "obeyed within a few seconds"
	}
	if len(nodes) == 0 {
		return "nothing runs there now: it holds from the next start"
	}
	return "obeyed as soon as the lane has something to do"
}

// clockTime writes a moment for people: all times are of one zone.
func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

func unpinCommand() command {
	return command{
		use: "unpin LANE", short: "remove the pin of a lane, so that it follows its load again", args: between(1, 1, "LANE"),
		bind: func(fs *pflag.FlagSet) runner {
			p := &place{}
			p.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				id, err := parseLane(args[0])
				if err != nil {
					return err
				}
				return p.there(ctx, env, func(ctx context.Context, l *link) error { return l.unpin(ctx, id) },
					func(ctx context.Context, d *desk) error { return d.unpin(ctx, id) })
			}
		},
	}
}

func (d *desk) unpin(ctx context.Context, id weir.LaneID) error {
	s, err := d.engine.Settings(ctx)
	if err != nil {
		return err
	}
	if _, ok := s.Pins[id]; !ok {
		pinned := slices.SortedFunc(maps.Keys(s.Pins), compareLanes)
		fix := "no lane is pinned there"
		if len(pinned) > 0 {
			fix = listed(pinned, "pins", d.env.Program+" scaling"+d.flags)
		}
		return badUsage(fix, "%v is not pinned", id)
	}
	if err := d.engine.Unpin(ctx, id); err != nil {
		return err
	}
	fmt.Fprintf(d.env.Stdout, "%v follows its load again\n", id)
	return nil
}

func circuitCommand() command {
	return command{
		use: "circuit RESOURCE open|close|auto", short: "open or close the circuit of a resource by hand",
		long: `open blocks new calls on all nodes; running calls finish. close lets calls through even if they fail.
Both expire after --for. auto ends them early: the circuit follows failures again.`,
		example: `  weir circuit fcm open --for 10m --reason 'they asked us to' --redis redis://host:6379
  weir circuit fcm auto --redis redis://host:6379`,
		args: between(2, 2, "RESOURCE open|close|auto"),
		bind: func(fs *pflag.FlagSet) runner {
			h := &byHand{}
			h.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				what := args[1]
				if !slices.Contains([]string{"open", "close", "auto"}, what) {
					return badUsage("write open, close or auto", "%q is not a state of a circuit", what)
				}
				if what != "auto" {
					if err := h.check(); err != nil {
						return err
					}
				}
				return h.place.there(ctx, env, func(ctx context.Context, l *link) error { return l.circuit(ctx, args[0], what, h) },
					func(ctx context.Context, d *desk) error { return d.circuit(ctx, args[0], what, h) })
			}
		},
	}
}

func (d *desk) circuit(ctx context.Context, resource, what string, h *byHand) error {
	if err := d.wantResource(ctx, resource); err != nil {
		return err
	}
	var err error
	var said string
	switch what {
	case "auto":
		err = d.engine.FreeCircuit(ctx, resource)
		said = "follows failures again"
	case "open":
		err = d.engine.OpenCircuit(ctx, resource, time.Duration(h.span), h.reason)
		said = fmt.Sprintf("is open until %s, so no call starts: %s", clockTime(h.until()), h.reason)
	default:
		err = d.engine.CloseCircuit(ctx, resource, time.Duration(h.span), h.reason)
		said = fmt.Sprintf("is closed until %s, even if calls fail: %s", clockTime(h.until()), h.reason)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(d.env.Stdout, "the circuit of %s %s\n", resource, said)
	return nil
}
