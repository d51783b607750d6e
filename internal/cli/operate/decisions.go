package operate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

// fewDecisions is how many are shown without --all; manyDecisions is more than are kept.
const (
	fewDecisions  = 20
	manyDecisions = 10_000
)

// decisions shows what was decided about one lane.
func (o *lanesOptions) decisions(ctx context.Context, d *desk, name string) error {
	id, err := parseLane(name)
	if err != nil {
		return err
	}
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
	if o.format == command.JSON {
		return command.PrintJSON(d.env, struct {
			Lane      weir.LaneID     `json:"lane"`
			Stored    int             `json:"stored"`
			Decisions []weir.Decision `json:"decisions"`
		}{id, kept, append([]weir.Decision{}, all...)})
	}
	scr := d.env.Screen()
	if kept == 0 {
		scr.Print(fmt.Sprintf("  no decision about %v is stored: it has its initial workers", id))
		return nil
	}
	p, wide := command.Outward(d.env)
	for i := range all {
		for _, l := range decisionLines(p, &all[i]) {
			if wide > 0 {
				l = term.Wrap(l, wide)
			}
			fmt.Fprintln(d.env.Stdout, l)
		}
	}
	if len(all) < kept {
		scr.Print(fmt.Sprintf("  the newest %d of %d; --all shows the rest", len(all), kept))
	}
	return nil
}

// decisionLines tells one decision: what and why in the first line, from what in the second.
func decisionLines(p term.Paint, d *weir.Decision) []string {
	change := fmt.Sprintf("%d → %d", d.From, d.To)
	switch d.Direction() {
	case "up":
		change = p.Green(change)
	case "down":
		change = p.Yellow(change)
	default:
		change = fmt.Sprintf("at %d", d.To)
	}
	mark := ""
	if d.Shadow {
		mark = p.Cyan("shadow "+d.Policy) + "  "
	}
	head := fmt.Sprintf("%s  %s  %s  %s%s", p.Dim(d.At.UTC().Format("2006-01-02 15:04:05Z")), term.Pad(change, 9),
		p.Bold(term.Pad(d.Reason, 12)), mark, d.Text)
	return []string{head, "  " + p.Dim(inputsOf(d))}
}

// inputsOf returns the inputs of a decision. Values of 0 without a meaning are left out.
func inputsOf(d *weir.Decision) string {
	in := &d.Inputs
	parts := []string{
		"workers " + term.Number(in.Workers), "arrivals " + term.PerSecond(in.Arrivals), "backlog " + term.Number(in.Backlog),
		"in flight " + term.Number(in.InFlight), "busy " + share(in.Busy),
	}
	add := func(show bool, format string, args ...any) {
		if show {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(in.Service > 0, "service %s", term.Span(in.Service))
	add(in.SlotWait >= time.Millisecond, "slot wait %s", term.Span(in.SlotWait))
	add(in.Usable > 0, "usable %s", term.PerSecond(in.Usable))
	add(in.Ended > 0, "ended %s", term.Number(in.Ended))
	add(in.Failed > 0, "failed %s", term.Number(in.Failed))
	add(true, "cpu %s", share(in.CPU))
	add(true, "memory %s", share(in.Memory))
	add(in.Strained, "strained")
	add(in.Closed, "closed")
	add(in.Floor > 0, "floor %s", term.Number(in.Floor))
	add(in.Need > 0, "need %s", term.Figure(&in.Need))
	add(in.Useful > 0, "useful %s", term.Figure(&in.Useful))
	return strings.Join(parts, " · ")
}
