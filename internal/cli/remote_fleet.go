package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

func nodesCommand() command {
	return command{use: "nodes", short: "list the nodes: the processes that run tasks", args: between(0, 0, ""),
		bind: func(fs *pflag.FlagSet) runner {
			type n = api.Node
			v := view[n]{plural: "nodes", id: func(x *n) string { return x.Node }, columns: []column[n]{
				{"node", func(x *n) any { return x.Node }},
				{"slots", func(x *n) any { return x.Slots }},
				{"in flight", func(x *n) any { return x.InFlight }},
				{"partitions", func(x *n) any { return x.Partitions }},
				{"cpu", func(x *n) any { return share(x.CPU) }},
				{"memory", func(x *n) any { return share(x.Memory) }},
				{"leader", func(x *n) any { return x.Leader }},
			}}
			return online(fs, func(ctx context.Context, l *link, _ []string) error { return list(l, v, l.Nodes(ctx), 0) })
		}}
}

func laneView() view[api.Lane] {
	type x = api.Lane
	return view[x]{
		plural: "lanes",
		id:     func(l *x) string { return l.Partition + "/" + l.Lane },
		columns: []column[x]{
			{"lane", func(l *x) any { return l.Partition + "/" + l.Lane }},
			{"node", func(l *x) any { return l.Node }},
			{"workers", func(l *x) any { return l.Workers }},
			{"need", func(l *x) any { return l.Need }},
			{"useful", func(l *x) any { return positiveNumber(l.Useful) }},
			{"pwqd", func(l *x) any { return l.PWQD }},
			{"ready", func(l *x) any { return l.Ready }},
			{"waiting", func(l *x) any { return l.Waiting }},
			{"in flight", func(l *x) any { return l.InFlight }},
			{"oldest", func(l *x) any { return l.Oldest }},
			{"pin", func(l *x) any { return pinText(l.Pin) }},
			{"last decision", func(l *x) any { return whole(sentence(l.Decision)) }},
		},
	}
}

func positiveNumber(n float64) any {
	if n <= 0 {
		return ""
	}
	return n
}

func pinText(p *api.Pin) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%d until %s", p.Workers, clockTime(p.Until))
}

func sentence(d *api.Decision) string {
	if d == nil {
		return ""
	}
	return d.Sentence
}

// remoteLanes shows the lanes of a server, or the decisions about one.
func (o *lanesOptions) remoteLanes(ctx context.Context, l *link, args []string) error {
	if len(args) == 1 {
		return o.remoteDecisions(ctx, l, args[0])
	}
	for ctx.Err() == nil {
		if err := list(l, laneView(), l.Lanes(ctx), 0); err != nil || !o.watch {
			return err
		}
		_ = sleep(ctx, watchEvery) // it ends with ctx
	}
	return nil
}

func (o *lanesOptions) remoteDecisions(ctx context.Context, l *link, name string) error {
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
	type d = api.Decision
	return list(l, view[d]{plural: "decisions", id: func(x *d) string { return x.At.Format(time.RFC3339Nano) }, columns: []column[d]{
		{"at", func(x *d) any { return x.At }},
		{"from", func(x *d) any { return x.From }},
		{"to", func(x *d) any { return x.To }},
		{"reason", func(x *d) any { return x.Reason }},
		{"shadow", func(x *d) any { return x.Shadow }},
		{"sentence", func(x *d) any { return whole(x.Sentence) }},
	}}, seq(all), 0)
}

// partitionName is a lane's partition as the API writes it.
func partitionName(id weir.LaneID) string { return fmt.Sprintf("p%02d", id.Partition) }

func (l *link) pin(ctx context.Context, id weir.LaneID, workers int, h *byHand) error {
	pin, err := l.Client.Pin(ctx, partitionName(id), id.Resource, api.Pin{Workers: workers, Until: h.until(), Reason: h.reason})
	if err != nil {
		return err
	}
	fmt.Fprintf(l.env.Stdout, "%v is pinned to %s until %s: %s\n", id, plural(int64(pin.Workers), "worker", "workers"),
		clockTime(pin.Until), pin.Reason)
	l.say("end it early: %s unpin %v%s", l.env.Program, id, l.flag)
	return nil
}

func (l *link) unpin(ctx context.Context, id weir.LaneID) error {
	if err := l.Client.Unpin(ctx, partitionName(id), id.Resource); err != nil {
		return err
	}
	fmt.Fprintf(l.env.Stdout, "%v follows its load again\n", id)
	return nil
}

func (l *link) circuit(ctx context.Context, resource, what string, h *byHand) error {
	do := map[string]string{"open": "open", "close": "close", "auto": "free"}[what]
	r, err := l.Client.Circuit(ctx, resource, api.CircuitChange{Do: do, For: api.Duration(h.span), Reason: h.reason})
	if err != nil {
		return err
	}
	said := map[string]string{
		"auto":  "follows failures again",
		"open":  fmt.Sprintf("is open until %s, so no call starts: %s", clockTime(h.until()), h.reason),
		"close": fmt.Sprintf("is closed until %s, even if calls fail: %s", clockTime(h.until()), h.reason),
	}[what]
	fmt.Fprintf(l.env.Stdout, "the circuit of %s %s\n", cmp.Or(r.Name, resource), said)
	return nil
}

// remoteScaling changes and shows how workers follow the load.
func (o *scalingOptions) remoteScaling(ctx context.Context, l *link) error {
	s, err := l.Scaling(ctx)
	if err == nil && o.changes() {
		s, err = l.ChangeScaling(ctx, func(now *api.ScalingSettings) error {
			all := weir.Scaling{
				Policy: now.Policy, Shadow: now.Shadow, Min: now.Min, Max: now.Max, Drain: time.Duration(now.Drain),
				Paused: now.Paused, Timetables: now.Timetables,
			}
			o.change(&all)
			now.Policy, now.Shadow, now.Min, now.Max, now.Paused, now.Timetables = all.Policy, all.Shadow, all.Min, all.Max, all.Paused, all.Timetables
			now.Drain = api.Duration(all.Drain)
			return nil
		})
	}
	if err != nil {
		return err
	}
	if o.format == asJSON {
		return printJSON(l.env, s)
	}
	p, _ := outward(l.env)
	for _, line := range scalingLines(p, &weir.Scaling{
		Policy: s.Policy, Shadow: s.Shadow, Min: s.Min, Max: s.Max, Drain: time.Duration(s.Drain), Paused: s.Paused, Timetables: s.Timetables,
	}) {
		fmt.Fprintln(l.env.Stdout, line)
	}
	return nil
}
