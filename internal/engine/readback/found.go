package readback

import (
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
)

// Found is one item and what became of it.
type Found struct {
	Bulk   weir.BulkID
	Name   string // of the bulk action
	Tenant string
	No     int64 // position in the bulk action, from 0
	// Row is how the item ended, or where it stands.
	Row report.Row
	// Steps is what happened at each step that the item came to, in order.
	Steps []StepResult
}

// StepResult is what became of an item at one step.
type StepResult struct {
	Step     string
	State    report.State // ready or waiting at the step where the item stands
	Attempts int
	Code     string
	Message  string
	Output   []byte // JSON that the action returned, if any
	// At is when that became durable. It is not known of a success at the first attempt without an output, nor of
	// what older versions wrote.
	At time.Time
}

// item tells all that is known of one item of a block.
func (r *Report) item(ctx context.Context, items *block.Items, no uint32, i int) (Found, error) {
	b := r.bulk
	at, err := r.stateOf(ctx, no)
	if err != nil {
		return Found{}, err
	}
	f := Found{Bulk: b.id, Name: b.Spec.Name, Tenant: b.Spec.Tenant, No: b.Spec.Position(no) + int64(i)}
	f.Row = r.row(items, at.state, i)
	f.Row.No, f.Row.KeyNo = f.No, f.No
	along, err := r.along(ctx, no)
	if err == nil && along != nil {
		err = r.carriedTo(&f.Row, along, i)
	}
	if err != nil {
		return Found{}, err
	}
	f.visit(b.Spec, at.state, i)
	err = partition.ReadResults(stored.At(ctx, b.from.store, at.partition), b.from.codec, b.id, no, func(x block.Result) error {
		if int(x.Item) != i {
			return nil
		}
		fillIn(&f.Row, x, b.Spec.Steps[x.Step])
		if k := int(x.Step) - b.Spec.FirstStep; k >= 0 && k < len(f.Steps) { // else it was committed after its state was read
			f.Steps[k].fillIn(x)
		}
		return nil
	})
	return f, err
}

// visit lists the steps that an item has come to.
func (f *Found) visit(c *partition.Created, s *block.State, i int) {
	for k := c.FirstStep; k < len(c.Steps); k++ {
		if !s.Passed[k].Has(i) {
			f.Steps = append(f.Steps, StepResult{Step: c.Steps[k], State: f.Row.State, Attempts: f.Row.Attempts, Code: f.Row.Code, Message: f.Row.Message})
			return
		}
		f.Steps = append(f.Steps, StepResult{Step: c.Steps[k], State: report.StateDone, Attempts: 1})
	}
}

// fillIn adds what the action answered.
func (s *StepResult) fillIn(x block.Result) {
	s.Attempts, s.Code, s.Message, s.Output = int(x.Attempts), x.Code, x.Message, slices.Clone(x.Output)
	if skipped(&x) {
		s.State = report.StateSkipped
	}
	if x.At != 0 {
		s.At = time.Unix(0, x.At).UTC()
	}
}
