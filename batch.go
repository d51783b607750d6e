package weir

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// OutcomeKind says how an attempt at an item ended.
type OutcomeKind uint8

// The kinds of outcome. The zero value is no answer: the item is tried again as "no_result".
const (
	OutcomeNone OutcomeKind = iota
	OutcomeDone
	OutcomeRetry   // try again later; counts as an attempt
	OutcomeFailed  // failed for good
	OutcomeLeftOut // deliberately not processed; ends the item as cancelled
	OutcomeRefused // the downstream was too busy: try again, no attempt is counted
)

var outcomeNames = [...]string{"no_result", "done", "retry", "failed", "left_out", "refused"}

// String returns the outcome's word in API and reports.
func (k OutcomeKind) String() string { return word(outcomeNames[:], k, "OutcomeKind") }

// Outcome holds what an action answered for one item.
type Outcome struct {
	Kind    OutcomeKind
	Code    string        // short and from a small set, as in "closed": errors are grouped by it
	Message string        // for people
	After   time.Duration // Retry, Refused: not before this long from now
	Output  []byte        // Done: JSON that reaches the next step and the report
	// Uncalled says that the item ended without a call, by a rule of the step: the outcome says nothing about the endpoint.
	Uncalled bool
}

// Task is a batch in its raw form: up to an action's batch size of items of one
// bulk action at one step. Typed handlers see it as a [Batch].
type Task struct {
	ID       string // the same for every attempt that has the same items
	Bulk     BulkID
	Tenant   string
	Step     string
	StepNo   int
	Action   string
	Attempt  int // 1 for the first
	Deadline time.Time
	Items    []TaskItem
	Outcomes []Outcome // one per item; filled in by the handler

	// Heartbeat extends the task's deadline by its action's timeout from now on.
	Heartbeat func()

	// KeysOf is whose idempotency keys the items have, and KeyNos their numbers there. Default: Bulk's own.
	KeysOf BulkID
	KeyNos []int64
	// Output is what an earlier step answered for item i, if the step asked for it; see [Step.Needs].
	Output func(i int, step string) []byte
	// DryRun says that it is only a trial: nothing is to be done.
	DryRun bool
}

// TaskItem is one item of a [Task].
type TaskItem struct {
	No       int64 // position in the bulk action, from 0
	ID       string
	Data     []byte // the item's own JSON document, byte for byte
	Previous []byte // what the step before answered for it; nil at the first step
}

// Key returns the idempotency key of item i: the same for every attempt, node,
// retry and replay of that item at that step.
func (t *Task) Key(i int) string {
	if t.KeysOf != "" {
		return ItemKey(t.KeysOf, t.StepNo, t.KeyNos[i])
	}
	return ItemKey(t.Bulk, t.StepNo, t.Items[i].No)
}

// ItemKey is the idempotency key of item no at a step of a bulk action.
func ItemKey(id BulkID, step int, no int64) string { return fmt.Sprintf("%s.%d.%d", id, step, no) }

// Handler runs a task and fills in its outcomes. An error means that nothing
// was done: every item is tried again.
type Handler func(ctx context.Context, t *Task) error

// Batch holds the items of a task, decoded, for a typed handler. It is
// the handler's until that returns. Items that cannot be decoded have been failed as "bad_item" and are not in it.
type Batch[In, Out any] struct {
	task  *Task
	items []Item[In]
	at    []int32 // position of each item in task.Items; nil: the same
	bug   error
	few   [1]Item[In] // saves a small task an allocation
}

// Len is the number of items.
func (b *Batch[In, Out]) Len() int { return len(b.items) }

// Items returns the items; they are valid until the handler returns.
func (b *Batch[In, Out]) Items() []Item[In] { return b.items }

// Item returns item i.
func (b *Batch[In, Out]) Item(i int) Item[In] { return b.items[i] }

// Key returns the idempotency key of item i. See [Task.Key].
func (b *Batch[In, Out]) Key(i int) string { return b.task.Key(b.index(i)) }

// Attempt is 1 for the first attempt.
func (b *Batch[In, Out]) Attempt() int { return b.task.Attempt }

// Bulk is the bulk action that the items belong to.
func (b *Batch[In, Out]) Bulk() BulkID { return b.task.Bulk }

// Tenant is the tenant that the items belong to.
func (b *Batch[In, Out]) Tenant() string { return b.task.Tenant }

// Heartbeat tells that the handler is alive and extends the task's timeout.
func (b *Batch[In, Out]) Heartbeat() {
	if b.task.Heartbeat != nil {
		b.task.Heartbeat()
	}
}

// Done reports that item i succeeded; out reaches the next step and the report.
func (b *Batch[In, Out]) Done(i int, out Out) {
	if o := b.answer(i, OutcomeDone); o != nil {
		if err := encodeOutput(o, out); err != nil {
			b.bug = fmt.Errorf("output of item %q is not valid JSON: %w", b.items[i].ID, err)
		}
	}
}

// DoneRest reports that every item without an answer so far succeeded, with no output.
func (b *Batch[In, Out]) DoneRest() {
	for i := range b.items {
		if o := &b.task.Outcomes[b.index(i)]; o.Kind == OutcomeNone {
			o.Kind = OutcomeDone
		}
	}
}

// Retry asks for another attempt at item i, not before after has passed and not
// before the action's backoff says. The error's text is kept.
func (b *Batch[In, Out]) Retry(i int, err error, after time.Duration) {
	if o := b.answer(i, OutcomeRetry); o != nil {
		o.Message, o.After = text(err), after
	}
}

// Fail reports that item i failed for good. code is short and from a small set:
// failures are grouped by it.
func (b *Batch[In, Out]) Fail(i int, code string, err error) {
	if o := b.answer(i, OutcomeFailed); o != nil {
		o.Code, o.Message = code, text(err)
	}
}

// LeaveOut reports that item i is deliberately not processed.
func (b *Batch[In, Out]) LeaveOut(i int, reason string) {
	if o := b.answer(i, OutcomeLeftOut); o != nil {
		o.Code = reason
	}
}

func (b *Batch[In, Out]) index(i int) int {
	if b.at == nil {
		return i
	}
	return int(b.at[i])
}

// answer returns the outcome to fill in for item i, or nil after noting a bug
// of the handler: two answers for one item.
func (b *Batch[In, Out]) answer(i int, k OutcomeKind) *Outcome {
	o := &b.task.Outcomes[b.index(i)]
	if o.Kind != OutcomeNone {
		b.bug = fmt.Errorf("two answers for item %q: %v, then %v", b.items[i].ID, o.Kind, k)
		return nil
	}
	o.Kind = k
	return o
}

func encodeOutput(o *Outcome, out any) error {
	if _, none := out.(struct{}); none {
		return nil
	}
	raw, err := json.Marshal(out)
	if string(raw) != "null" {
		o.Output = raw
	}
	return err
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
