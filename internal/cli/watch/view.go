package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/report"
)

// BulkView shows bulk actions.
var BulkView = command.NewView("bulk actions", "id",
	"id, name, tenant, state, items=counts.total, done=counts.done, failed=counts.failed, not dealt with=open?, created=created_at, retry of",
	"outcome, reason, last error, steps, in flight=counts.in_flight?, waiting=counts.waiting?, ready=counts.ready?, "+
		"cancelled=counts.cancelled?, duplicates?, bad lines?, tier, deadline, retried=retried.text?, retried by, undo of, undone by, schedule, "+
		"template, start at, started=started_at, finished=finished_at, durability, lost work, note",
	command.Texts[api.BulkAction]{
		"state":      func(x *api.BulkAction) any { return stateText(x) },
		"last error": func(x *api.BulkAction) any { return lastErrorText(x) },
		"steps":      func(x *api.BulkAction) any { return StepNames(x.Steps) },
		"retried by": func(x *api.BulkAction) any { return strings.Join(x.Retries, ", ") },
		"template":   func(x *api.BulkAction) any { return templateOf(x) },
		"lost work":  func(x *api.BulkAction) any { return lossText(lossesOf(x.Losses)) },
	})

// lossesOf are the losses of an answer in the words of a local report.
func lossesOf(list []api.Loss) (out []report.Loss) {
	for _, l := range list {
		x := report.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, FoundAt: l.FoundAt}
		if !l.AcceptedAt.IsZero() {
			x.AcceptedAt = &l.AcceptedAt
		}
		out = append(out, x)
	}
	return out
}

// lossText says what the store lost while a bulk action had not ended.
func lossText(losses []report.Loss) string {
	var all []string
	for _, l := range losses {
		text := fmt.Sprintf("partition %d, found %s", l.Partition, l.FoundAt.Format(time.RFC3339))
		if l.AcceptedAt == nil {
			all = append(all, text+": stopped")
			continue
		}
		all = append(all, text+", accepted "+l.AcceptedAt.Format(time.RFC3339)+": items may have run again, results may be missing")
	}
	return strings.Join(all, "; ")
}

// lastErrorText is why calls fail or, where they no longer do, why and when one failed last.
func lastErrorText(b *api.BulkAction) string {
	if b.LastError == nil {
		return ""
	}
	e := b.LastError
	if !e.Failing {
		return "at " + command.People(e.Last) + ": " + errorLine(e) + "; no call has failed since"
	}
	return errorLine(e) + ", last " + command.People(e.Last)
}

// Interrupted is shown as the state of a run that has not ended, in a data directory that no process uses.
const Interrupted = "interrupted"

// IsInterrupted reports whether a run in a data directory that no process uses is shown as interrupted.
func IsInterrupted(b *api.BulkAction) bool {
	return b.State == api.Running || b.State == api.Cancelling
}

// BulkViewAt shows the bulk actions of a link. Nothing runs in a data directory that no other process uses.
func BulkViewAt(l *link.Link) command.View[api.BulkAction] {
	v := BulkView
	if l.Local == nil {
		return v
	}
	v.Columns = slices.Clone(v.Columns)
	at := slices.IndexFunc(v.Columns, func(c command.Column[api.BulkAction]) bool { return c.Head == "state" })
	v.Columns[at].Value = func(x *api.BulkAction) any {
		if IsInterrupted(x) {
			return Interrupted
		}
		return stateText(x)
	}
	return v
}

func stateText(b *api.BulkAction) string {
	if b.Pending != "" {
		return string(b.State) + " (" + b.Pending + " pending)"
	}
	if b.State == api.Running && b.Phase == "canary" {
		return "running (canary)"
	}
	return string(b.State)
}

// StepNames writes a chain as the names of its steps.
func StepNames(steps []api.Step) (text string) {
	for i, s := range steps {
		if i > 0 {
			text += " → "
		}
		text += spec.StepName(s)
	}
	return text
}

// Pace returns what people are shown of the progress of a bulk action.
func Pace(ctx context.Context, l *link.Link, b *api.BulkAction) []command.Column[api.BulkAction] {
	p, err := l.Progress(ctx, b.ID)
	if err != nil {
		l.Say("cannot read the progress of its steps: %v", err) // all else is
		return nil
	}
	on, unknown, cut, calls := "", "", int64(0), []string(nil)
	if !b.State.Final() {
		on = causesText(p.WaitingOn)
	}
	if b.State == api.Running {
		unknown = p.NoEnd
	}
	for _, s := range p.Steps {
		cut += s.Cancelled
		if s.Calls > 0 {
			calls = append(calls, s.Step+" "+term.Number(s.Calls))
		}
	}
	rows := []command.Column[api.BulkAction]{
		{Head: "waiting on", Value: func(*api.BulkAction) any { return on }},
		{Head: "ETA", Value: func(*api.BulkAction) any { return p.ETA }},
		{Head: "ends between", Value: func(*api.BulkAction) any { return between(&p) }},
		{Head: "no ETA because", Value: func(*api.BulkAction) any { return unknown }},
		{Head: "calls", Value: func(*api.BulkAction) any { return strings.Join(calls, ", ") }},
	}
	if b.State == api.Completed && b.Reason == "deadline" {
		rows = append(rows, command.Column[api.BulkAction]{Head: "cancelled by deadline",
			Value: func(*api.BulkAction) any { return cut }})
	}
	return rows
}

// between returns the times between which a bulk action will probably end; empty: its end is rather certain, or unknown.
func between(p *api.Progress) string {
	if p.LikelyEndTo.IsZero() {
		return ""
	}
	return command.People(p.LikelyEndFrom) + " and " + command.People(p.LikelyEndTo)
}

// templateOf is the template of a bulk action as people write it.
func templateOf(b *api.BulkAction) string {
	if b.Template == nil {
		return ""
	}
	return fmt.Sprintf("%s (version %s)", b.Template.Name, b.Template.Version)
}

// WhatFor tells what is done by a bulk action that is to be made.
func WhatFor(n *api.NewBulkAction) string {
	if n.Template != "" {
		return "template " + n.Template
	}
	return StepNames(n.Steps)
}
