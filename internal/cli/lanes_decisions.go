package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// fewDecisions is how many are shown without --all; manyDecisions is more than are kept.
const (
	fewDecisions  = 20
	manyDecisions = 10_000
)

// decisions shows what was decided about one lane.
func (o *lanesOptions) decisions(ctx context.Context, env *Env, name string) error {
	id, err := parseLane(name)
	if err != nil {
		return err
	}
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	d, err := o.place.openDesk(ctx, env)
	if err != nil {
		return err
	}
	return errors.Join(o.tellDecisions(ctx, d, id), d.close())
}

func (o *lanesOptions) tellDecisions(ctx context.Context, d *desk, id weir.LaneID) error {
	if err := d.wantKnown(ctx, id); err != nil {
		return err
	}
	all, err := d.engine.Decisions(ctx, id, manyDecisions)
	if err != nil {
		return err
	}
	kept := len(all)
	if !o.all {
		all = all[:min(kept, fewDecisions)]
	}
	if o.format == asJSON {
		return printJSON(d.env, struct {
			Lane      weir.LaneID     `json:"lane"`
			Stored    int             `json:"stored"`
			Decisions []weir.Decision `json:"decisions"`
		}{id, kept, append([]weir.Decision{}, all...)})
	}
	scr := newScreen(d.env)
	if kept == 0 {
		scr.print(fmt.Sprintf("  no decision about %v is stored: it has its initial workers", id))
		return nil
	}
	p, wide := outward(d.env)
	for i := range all {
		for _, l := range decisionLines(p, &all[i]) {
			if wide > 0 {
				l = wrap(l, wide)
			}
			fmt.Fprintln(d.env.Stdout, l)
		}
	}
	if len(all) < kept {
		scr.print(fmt.Sprintf("  the newest %d of %d; --all shows the rest", len(all), kept))
	}
	return nil
}

// decisionLines tells one decision: what and why in the first line, from what in the second.
func decisionLines(p paint, d *weir.Decision) []string {
	change := fmt.Sprintf("%d → %d", d.From, d.To)
	switch d.Direction() {
	case "up":
		change = p.green(change)
	case "down":
		change = p.yellow(change)
	default:
		change = fmt.Sprintf("at %d", d.To)
	}
	mark := ""
	if d.Shadow {
		mark = p.cyan("shadow "+d.Policy) + "  "
	}
	head := fmt.Sprintf("%s  %s  %s  %s%s", p.dim(d.At.UTC().Format("2006-01-02 15:04:05Z")), pad(change, 9),
		p.bold(pad(d.Reason, 12)), mark, d.Text)
	return []string{head, "  " + p.dim(inputsOf(d))}
}

// inputsOf returns the inputs of a decision. Values of 0 without a meaning are left out.
func inputsOf(d *weir.Decision) string {
	in := &d.Inputs
	parts := []string{
		"workers " + number(in.Workers), "arrivals " + perSecond(in.Arrivals), "backlog " + number(in.Backlog),
		"in flight " + number(in.InFlight), "busy " + share(in.Busy),
	}
	add := func(show bool, format string, args ...any) {
		if show {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(in.Service > 0, "service %s", span(in.Service))
	add(in.SlotWait >= time.Millisecond, "slot wait %s", span(in.SlotWait))
	add(in.Usable > 0, "usable %s", perSecond(in.Usable))
	add(in.Ended > 0, "ended %s", number(in.Ended))
	add(in.Failed > 0, "failed %s", number(in.Failed))
	add(true, "cpu %s", share(in.CPU))
	add(true, "memory %s", share(in.Memory))
	add(in.Strained, "strained")
	add(in.Closed, "closed")
	add(in.Floor > 0, "floor %s", number(in.Floor))
	add(in.Need > 0, "need %s", figure(&in.Need))
	add(in.Useful > 0, "useful %s", figure(&in.Useful))
	return strings.Join(parts, " · ")
}
