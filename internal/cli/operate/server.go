package operate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

func nodesCommand() command.Command {
	return command.Command{Use: "nodes", Short: "list the nodes: the processes that run tasks", Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			v := command.NewView("nodes", "node", "node, slots, in flight, partitions, cpu, memory, leader", "", command.Texts[api.Node]{
				"cpu":    func(x *api.Node) any { return load(x.CPU) },
				"memory": func(x *api.Node) any { return load(x.Memory) },
			})
			return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
				return command.List(l.Printer, v, l.Nodes(ctx), 0)
			})
		}}
}

// load writes the load of a machine; 0: the key may not see it.
func load(f float64) any {
	if f == 0 {
		return ""
	}
	return share(f)
}

func fairnessCommand() command.Command {
	return command.Command{Use: "fairness [RESOURCE]", Short: "show how tenants share resources, and why", Args: command.Args(0, 1, "RESOURCE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			v := command.NewView("shares", "tenant", "resource, tenant, weight, entitled, actual, rate, ready, in flight, why", "", command.Texts[api.TenantShare]{
				"entitled": func(x *api.TenantShare) any { return share(x.Entitled) },
				"actual":   func(x *api.TenantShare) any { return share(x.Actual) },
				"why":      func(x *api.TenantShare) any { return command.Whole(x.Text) },
			})
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				all, err := l.Fairness(ctx, strings.Join(args, ""))
				if err != nil {
					return err
				}
				return command.List(l.Printer, v, command.Seq(all), 0)
			})
		}}
}

var laneView = command.NewView("lanes", "lane",
	"lane, node, workers, need, useful?, pwqd, ready, waiting, in flight, in/s=tasks_in, out/s=tasks_out, oldest=oldest_ready, pin, last decision", "",
	command.Texts[api.Lane]{
		"lane": func(l *api.Lane) any { return l.Partition + "/" + l.Lane },
		"pin":  func(l *api.Lane) any { return pinText(l.Pin) },
		"last decision": func(l *api.Lane) any {
			if l.Decision == nil {
				return ""
			}
			return command.Whole(l.Decision.Sentence)
		},
	})

func pinText(p *api.Pin) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%d until %s", p.Workers, term.ClockTime(p.Until))
}

// remoteLanes shows the lanes of a server, or the decisions about one.
func (o *lanesOptions) remoteLanes(ctx context.Context, l *link.Link, args []string) error {
	if len(args) == 1 {
		return o.remoteDecisions(ctx, l, args[0])
	}
	for ctx.Err() == nil {
		if err := command.List(l.Printer, laneView, l.Lanes(ctx), 0); err != nil || !o.watch {
			return err
		}
		_ = command.Sleep(ctx, watchEvery) // it ends with ctx
	}
	return nil
}

func (o *lanesOptions) remoteDecisions(ctx context.Context, l *link.Link, name string) error {
	id, err := parseLane(name)
	if err != nil {
		return err
	}
	limit := fewDecisions
	if o.all {
		limit = 1000
	}
	all, err := l.Decisions(ctx, partitionName(id), id.Resource, limit)
	if err != nil {
		return err
	}
	return command.List(l.Printer, command.NewView("decisions", "at", "at, from, to, reason, shadow, sentence", "",
		command.Texts[api.Decision]{"sentence": func(x *api.Decision) any { return command.Whole(x.Sentence) }}), command.Seq(all), 0)
}

// partitionName is a lane's partition as the API writes it.
func partitionName(id weir.LaneID) string { return fmt.Sprintf("p%02d", id.Partition) }

func pinAt(ctx context.Context, l *link.Link, id weir.LaneID, workers int, h *byHand) error {
	pin, err := l.Client.Pin(ctx, partitionName(id), id.Resource, api.Pin{Workers: workers, Until: h.until(), Reason: h.reason})
	if err != nil {
		return err
	}
	fmt.Fprintf(l.Env.Stdout, "%v is pinned to %s until %s: %s\n", id, term.Plural(int64(pin.Workers), "worker", "workers"),
		term.ClockTime(pin.Until), pin.Reason)
	l.Say("end it early: %s unpin %v%s", l.Env.Program, id, l.Flag)
	return nil
}

// remoteScaling changes and shows how workers follow the load.
func (o *scalingOptions) remoteScaling(ctx context.Context, l *link.Link) error {
	s, err := l.Scaling(ctx)
	if err == nil && o.changes() {
		s, err = l.ChangeScaling(ctx, func(now *api.ScalingSettings) error {
			all := scalingOf(now)
			o.change(&all)
			now.Policy, now.Shadow, now.Min, now.Max, now.Paused, now.Timetables = all.Policy, all.Shadow, all.Min, all.Max,
				all.Paused, all.Timetables
			now.Drain = api.Duration(all.Drain)
			return nil
		})
	}
	if err != nil {
		return err
	}
	all := scalingOf(&s)
	return o.show(l.Env, s, &all)
}

func scalingOf(s *api.ScalingSettings) weir.Scaling {
	return weir.Scaling{Policy: s.Policy, Shadow: s.Shadow, Min: s.Min, Max: s.Max, Drain: time.Duration(s.Drain), Paused: s.Paused,
		Timetables: s.Timetables}
}
