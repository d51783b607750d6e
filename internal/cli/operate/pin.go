package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
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
		return command.BadUsage("add how long it lasts, as in --for 2h", "--for is missing")
	case h.reason == "":
		return command.BadUsage("add why, as in --reason 'flash sale'", "--reason is missing")
	}
	return nil
}

func (h *byHand) until() time.Time { return time.Now().Add(time.Duration(h.span)).UTC() }

func pinCommand() command.Command {
	return command.Command{
		Use: "pin LANE", Short: "set the workers of a lane for a limited time",
		Long: `Sets the number of workers of a lane, regardless of its load, even while scaling is paused. The pin expires after --for.
0 workers stop the lane. The slots of the node still limit all of its lanes together.`,
		Example: `  weir pin p03/send-message --workers 12 --for 2h --reason 'flash sale' --redis redis://host:6379`,
		Args:    command.Args(1, 1, "LANE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			h, workers := &byHand{}, fs.Int("workers", 0, "number of workers, `N` >= 0")
			h.bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				id, err := parseLane(args[0])
				switch {
				case err != nil:
					return err
				case !fs.Changed("workers"):
					return command.BadUsage("add how many, as in --workers 12", "--workers is missing")
				case *workers < 0:
					return command.BadUsage("write 0 to stop the lane, or more", "--workers: %d is negative", *workers)
				}
				if err := h.check(); err != nil {
					return err
				}
				return h.place.there(ctx, env, command.Table,
					func(ctx context.Context, l *link.Link) error { return pinAt(ctx, l, id, *workers, h) },
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
	scr := d.env.Screen()
	fmt.Fprintf(d.env.Stdout, "%v is pinned to %s until %s: %s\n", id, term.Plural(int64(workers), "worker", "workers"),
		term.ClockTime(h.until()), h.reason)
	nodes, err := d.engine.Nodes(ctx)
	if err != nil {
		return err
	}
	scr.Print("  " + effect(nodes, id, workers))
	scr.Print(fmt.Sprintf("  end it early: %s unpin %v%s", d.env.Program, id, d.flags))
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

func unpinCommand() command.Command {
	return command.Command{
		Use: "unpin LANE", Short: "remove the pin of a lane, so that it follows its load again", Args: command.Args(1, 1, "LANE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			p := &place{}
			p.bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				id, err := parseLane(args[0])
				if err != nil {
					return err
				}
				if err := p.there(ctx, env, command.Table, func(ctx context.Context, l *link.Link) error {
					return l.Client.Unpin(ctx, partitionName(id), id.Resource)
				}, func(ctx context.Context, d *desk) error { return d.unpin(ctx, id) }); err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.Stdout, "%v follows its load again\n", id)
				return err
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
		return command.BadUsage(fix, "%v is not pinned", id)
	}
	return d.engine.Unpin(ctx, id)
}

func circuitCommand() command.Command {
	return command.Command{
		Use: "circuit RESOURCE open|close|auto|probe", Short: "open, close or probe the circuit of a resource by hand",
		Long: `open blocks new calls on all nodes; running calls finish. close lets calls through even if they fail.
Both expire after --for. auto ends them early: the circuit follows failures again.
probe lets one call per node test an open circuit now, not at the time that weir resources get shows.`,
		Example: `  weir circuit fcm open --for 10m --reason 'they asked us to' --redis redis://host:6379
  weir circuit fcm auto --redis redis://host:6379
  weir circuit fcm probe`,
		Args: command.Args(2, 2, "RESOURCE open|close|auto|probe"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			h := &byHand{}
			h.bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				what := args[1]
				if !slices.Contains([]string{"open", "close", "auto", "probe"}, what) {
					return command.BadUsage("write open, close, auto or probe", "%q is not a state of a circuit", what)
				}
				if what == "open" || what == "close" {
					if err := h.check(); err != nil {
						return err
					}
				}
				if err := h.place.there(ctx, env, command.Table, func(ctx context.Context, l *link.Link) error {
					r, err := l.Client.Circuit(ctx, args[0], api.CircuitChange{
						Do: map[string]string{"open": "open", "close": "close", "auto": "free", "probe": "probe"}[what], For: api.Duration(h.span), Reason: h.reason,
					})
					if r.Note != "" {
						l.Say("note: %s", term.Tame(r.Note))
					}
					return err
				}, func(ctx context.Context, d *desk) error { return d.circuit(ctx, args[0], what, h) }); err != nil {
					return err
				}
				_, err := fmt.Fprintf(env.Stdout, "the circuit of %s %s\n", args[0], map[string]string{
					"auto":  "follows failures again",
					"probe": "is tested by the next call of each node, within 2 s",
					"open":  fmt.Sprintf("is open until %s, so no call starts: %s", term.ClockTime(h.until()), h.reason),
					"close": fmt.Sprintf("is closed until %s, even if calls fail: %s", term.ClockTime(h.until()), h.reason),
				}[what])
				return err
			}
		},
	}
}

func (d *desk) circuit(ctx context.Context, resource, what string, h *byHand) error {
	if err := d.wantResource(ctx, resource); err != nil {
		return err
	}
	switch what {
	case "auto":
		return d.engine.FreeCircuit(ctx, resource)
	case "probe":
		return d.engine.ProbeCircuit(ctx, resource)
	case "open":
		return d.engine.OpenCircuit(ctx, resource, time.Duration(h.span), h.reason)
	}
	return d.engine.CloseCircuit(ctx, resource, time.Duration(h.span), h.reason)
}
