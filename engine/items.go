package engine

import (
	"context"
	"iter"
	"time"

	"github.com/weirhq/weir"
	inner "github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// Found is one item of a bulk action and what became of it.
type Found struct {
	Bulk   weir.BulkID
	Name   string // of the bulk action
	Tenant string
	No     int64 // position in the bulk action, from 0
	// Row tells how the item ended, or where it stands.
	Row report.Row
	// Steps tells what happened at each step that the item came to, in order.
	Steps []StepResult
}

// StepResult tells what became of an item at one step.
type StepResult struct {
	Step     string
	State    report.State
	Attempts int
	Code     string
	Message  string
	Output   []byte // JSON that the action returned, if any
	// At is when that became durable. It is zero for a success at the first attempt without an output.
	At time.Time
}

func found(f inner.Found) Found {
	out := Found{Bulk: f.Bulk, Name: f.Name, Tenant: f.Tenant, No: f.No, Row: f.Row}
	for _, s := range f.Steps {
		out.Steps = append(out.Steps, StepResult(s))
	}
	return out
}

// LookupOptions narrows an [Engine.Lookup]. The zero value looks everywhere.
type LookupOptions struct {
	// Tenants are those whose bulk actions are looked into. Default: all.
	Tenants []string
	// Most is how many items are found at most. Default: all.
	Most int
	// Before leaves out this bulk action and newer ones: where an earlier lookup ended, another goes on.
	Before weir.BulkID
}

// RowOptions says which items [BulkAction.Rows] yields. The zero value means all.
type RowOptions struct {
	// From is the position of the first item that may be yielded, from 0. What comes before is not read.
	From int64
	// State takes only items in that state, one of those of package report. Default: any.
	State report.State
}

// Item returns the item at a position in the bulk action, from 0. It fails with [weir.ErrNotFound].
func (b *BulkAction) Item(ctx context.Context, no int64) (Found, error) {
	f, err := b.of.Item(ctx, no)
	return found(f), err
}

// ItemByID returns the item with that id in the bulk action: the first, where several were
// accepted. It fails with [weir.ErrNotFound].
func (b *BulkAction) ItemByID(ctx context.Context, id string) (Found, error) {
	f, err := b.of.ItemByID(ctx, id)
	return found(f), err
}

// Rows yields the items as of now, in the order of the input, and holds one block of them in
// memory. While the bulk action runs, items of later blocks are newer. An error is the last value.
func (b *BulkAction) Rows(ctx context.Context, o RowOptions) iter.Seq2[report.Row, error] {
	return b.of.Rows(ctx, inner.RowOptions{From: o.From, State: o.State})
}
