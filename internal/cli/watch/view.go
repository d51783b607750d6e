package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/report"
)

// BulkView shows bulk actions.
func BulkView() command.View[api.BulkAction] {
	type b = api.BulkAction
	return command.View[b]{
		Plural: "bulk actions",
		ID:     func(x *b) string { return x.ID },
		Columns: []command.Column[b]{
			command.Col("id", func(x *b) any { return x.ID }),
			command.Col("name", func(x *b) any { return x.Name }),
			command.Col("tenant", func(x *b) any { return x.Tenant }),
			command.Col("state", func(x *b) any { return stateText(x) }),
			command.Col("items", func(x *b) any { return x.Counts.Total }),
			command.Col("done", func(x *b) any { return x.Counts.Done }),
			command.Col("failed", func(x *b) any { return x.Counts.Failed }),
			command.Col("created", func(x *b) any { return x.CreatedAt }),
			command.Col("retry of", func(x *b) any { return x.RetryOf }),
		},
		More: []command.Column[b]{
			command.Col("outcome", func(x *b) any { return x.Outcome }),
			command.Col("reason", func(x *b) any { return x.Reason }),
			command.Col("last error", func(x *b) any { return lastErrorText(x) }),
			command.Col("steps", func(x *b) any { return StepNames(x.Steps) }),
			command.Col("in flight", func(x *b) any { return command.None(x.Counts.InFlight) }),
			command.Col("waiting", func(x *b) any { return command.None(x.Counts.Waiting) }),
			command.Col("ready", func(x *b) any { return command.None(x.Counts.Ready) }),
			command.Col("cancelled", func(x *b) any { return command.None(x.Counts.Cancelled) }),
			command.Col("duplicates", func(x *b) any { return command.None(x.Duplicates) }),
			command.Col("bad lines", func(x *b) any { return command.None(x.BadLines) }),
			command.Col("tier", func(x *b) any { return x.Tier }),
			command.Col("deadline", func(x *b) any { return x.Deadline }),
			command.Col("retried by", func(x *b) any { return strings.Join(x.Retries, ", ") }),
			command.Col("undo of", func(x *b) any { return x.UndoOf }),
			command.Col("undone by", func(x *b) any { return x.UndoneBy }),
			command.Col("schedule", func(x *b) any { return x.Schedule }),
			command.Col("template", func(x *b) any { return templateOf(x) }),
			command.Col("start at", func(x *b) any { return x.StartAt }),
			command.Col("started", func(x *b) any { return x.StartedAt }),
			command.Col("finished", func(x *b) any { return x.FinishedAt }),
			command.Col("durability", func(x *b) any { return x.Durability }),
			command.Col("lost work", func(x *b) any { return lossText(lossesOf(x.Losses)) }),
			command.Col("note", func(x *b) any { return x.Note }),
		},
	}
}

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
	e := weir.LastError(*b.LastError)
	if !e.Failing {
		return "at " + command.People(e.Last) + ": " + errorLine(&e) + "; no call has failed since"
	}
	return errorLine(&e) + ", last " + command.People(e.Last)
}

// BulkViewAt shows the bulk actions of a link. Nothing runs in a data directory that no other process uses.
func BulkViewAt(l *link.Link) command.View[api.BulkAction] {
	v := BulkView()
	if l.Local == nil {
		return v
	}
	at := slices.IndexFunc(v.Columns, func(c command.Column[api.BulkAction]) bool { return c.Head == "state" })
	v.Columns[at].Value = func(x *api.BulkAction) any {
		if x.State == api.Running || x.State == api.Cancelling {
			return "interrupted"
		}
		return stateText(x)
	}
	return v
}

func stateText(b *api.BulkAction) string {
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
	on, cut, calls := "", int64(0), []string(nil)
	if all := panelProgress(p).WaitingOn; len(all) > 0 && !b.State.Final() {
		on = withLate(all[0], all[1:])
	}
	for _, s := range p.Steps {
		cut += s.Cancelled
		if s.Calls > 0 {
			calls = append(calls, s.Step+" "+term.Number(s.Calls))
		}
	}
	rows := []command.Column[api.BulkAction]{
		command.Col("waiting on", func(*api.BulkAction) any { return on }),
		command.Col("ETA", func(*api.BulkAction) any { return p.ETA }),
		command.Col("calls", func(*api.BulkAction) any { return strings.Join(calls, ", ") }),
	}
	if b.State == api.Completed && b.Reason == "deadline" {
		rows = append(rows, command.Col("cancelled by deadline", func(*api.BulkAction) any { return cut }))
	}
	return rows
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
