package weir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Action does something to a batch of items. In is the type of its input, Out the
// type of its answer per item; use [json.RawMessage] for documents as they are and
// struct{} for no output.
type Action[In, Out any] struct {
	// Name identifies the action. Letters, digits, '.', '-' and '_'.
	Name string
	// BatchSize is the most items in a call. Default 100, at most 1,000.
	BatchSize int
	// Timeout ends a call that takes longer, unless it sends heartbeats. Default 30s.
	Timeout time.Duration
	// Resource is what the action uses. Default: an unlimited one of its own.
	Resource Resource
	// Retry says when and how often a failed item is tried again.
	Retry Backoff
	// Handle does the work. An error means that nothing was done: all items are tried again.
	Handle func(ctx context.Context, b *Batch[In, Out]) error
	// Undo takes back what Handle has done to the items of its batch. Default: it cannot be undone.
	Undo func(ctx context.Context, b *Batch[Undone[In, Out], struct{}]) error

	endpoint *Endpoint
}

// Undone is an item whose work at an action is to be taken back.
type Undone[In, Out any] struct {
	Input  In  `json:"data"`   // what the action was given
	Output Out `json:"output"` // what it answered; the zero value for nothing
}

// Endpoint says where and how an HTTP batch action is called.
type Endpoint struct {
	URL    string
	Secret string            // signs each call by Standard Webhooks; whsec_… or empty for none
	Header map[string]string // sent with every call
}

// HTTPAction is an action behind an HTTP batch endpoint, in any language. In is
// sent as JSON, Out is read from the answer.
type HTTPAction[In, Out any] struct {
	// Name, BatchSize, Timeout, Resource and Retry are as in [Action].
	Name      string
	BatchSize int
	Timeout   time.Duration
	Resource  Resource
	Retry     Backoff
	// URL receives a POST per batch.
	URL string
	// Secret signs each call by Standard Webhooks: "whsec_" and 24 to 64 bytes in base64. Default: unsigned.
	Secret string
	// Header is sent with every call.
	Header map[string]string
}

// Action makes it usable where a Go action is.
func (h HTTPAction[In, Out]) Action() Action[In, Out] {
	return Action[In, Out]{
		Name: h.Name, BatchSize: h.BatchSize, Timeout: h.Timeout, Resource: h.Resource, Retry: h.Retry,
		endpoint: &Endpoint{h.URL, h.Secret, h.Header},
	}
}

// Step is one action of a chain with its types erased: what the engine runs.
type Step struct {
	Name      string
	Action    string
	BatchSize int
	Timeout   time.Duration
	Resource  Resource
	Retry     Backoff
	Endpoint  *Endpoint // nil: Handle is set
	Handle    Handler   // nil: Endpoint is set
	// Remote says that an endpoint does the work, also where Handle calls it: as long
	// as no call has succeeded, one goes ahead of the others.
	Remote bool
	// Undo takes the step's work back; its items are documents as of [Undone]. nil: it cannot be undone.
	Undo Handler
	// Input makes the JSON that an endpoint is sent for an item; nil: its data as it is.
	Input func(*TaskItem) ([]byte, error)
	// Filter ends the items that need no call, before any limit counts them. It gives those
	// an outcome, Done, Failed or LeftOut, and leaves the others alone; it sees data and
	// [Task.Output] of up to a block of items, and must say the same whenever it is asked.
	// If it fails, all items are called. nil: there is a call for every item.
	Filter Handler
	// Needs names the earlier steps whose answers Handle and Filter look at by [Task.Output].
	Needs []string
}

// decoder makes a step's input value of a stored item.
type decoder[In any] func(*TaskItem) (In, error)

// Definition describes a chain of this one action, without its types.
func (a Action[In, Out]) Definition() Definition { return Start(a).Definition() }

func (Action[In, Out]) takes(In) {}

func (a Action[In, Out]) step(decode decoder[In]) Step {
	s := Step{
		Name: a.Name, Action: a.Name, BatchSize: a.BatchSize, Timeout: a.Timeout,
		Resource: a.Resource, Retry: a.Retry.WithDefaults(), Endpoint: a.endpoint, Remote: a.endpoint != nil,
	}
	if s.BatchSize == 0 {
		s.BatchSize = 100
	}
	if s.Timeout == 0 {
		s.Timeout = 30 * time.Second
	}
	if s.Resource.Name == "" {
		s.Resource.Name = a.Name
	}
	if s.Resource.Pacing == "" {
		s.Resource.Pacing = PacingSmooth
	}
	if a.Handle != nil {
		s.Handle = typed(a.Handle, decode)
	}
	if a.Undo != nil {
		s.Undo = typed(a.Undo, nil)
	}
	if decode != nil {
		s.Input = func(it *TaskItem) ([]byte, error) {
			v, err := decode(it)
			if err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}
	}
	return s
}

// typed turns a handler over a Batch into one over a Task. A nil decode takes
// the item's own document.
func typed[In, Out any](handle func(context.Context, *Batch[In, Out]) error, decode decoder[In]) Handler {
	if decode == nil {
		decode = ofData[In]()
	}
	return func(ctx context.Context, t *Task) error {
		b := &Batch[In, Out]{task: t} // never reused: a careless handler may keep it
		if len(t.Items) > len(b.few) {
			b.items = make([]Item[In], 0, len(t.Items))
		} else {
			b.items = b.few[:0]
		}
		for i := range t.Items {
			b.add(i, decode)
		}
		if len(b.items) == 0 {
			return nil
		}
		if err := handle(ctx, b); err != nil {
			return err
		}
		if b.bug != nil {
			return &HandlerBug{b.bug}
		}
		return nil
	}
}

func (b *Batch[In, Out]) add(i int, decode decoder[In]) {
	it := &b.task.Items[i]
	v, err := decode(it)
	if err != nil {
		b.task.Outcomes[i] = Outcome{Kind: OutcomeFailed, Code: "bad_item", Message: err.Error()}
		if b.at == nil { // from here on positions differ
			b.at = make([]int32, len(b.items), len(b.task.Items))
			for j := range b.at {
				b.at[j] = int32(j)
			}
		}
		return
	}
	b.items = append(b.items, Item[In]{it.ID, v})
	if b.at != nil {
		b.at = append(b.at, int32(i))
	}
}

// ofData returns what decodes the item's own document. Raw ones stay as they are, without an allocation for each.
func ofData[In any]() decoder[In] {
	if raw, ok := any(decoder[json.RawMessage](rawData)).(decoder[In]); ok {
		return raw
	}
	return decodeData[In]
}

func rawData(it *TaskItem) (json.RawMessage, error) { return it.Data, nil }

// decodeData decodes a document into In.
func decodeData[In any](it *TaskItem) (v In, err error) {
	if err := json.Unmarshal(it.Data, &v); err != nil {
		return v, fmt.Errorf("item is not a %T: %w", v, err)
	}
	return v, nil
}

// HandlerBug is a handler that broke its contract, as with two answers for one
// item. The task's items are tried again.
type HandlerBug struct{ Err error }

// Error tells what the handler did.
func (e *HandlerBug) Error() string { return "handler bug: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *HandlerBug) Unwrap() error { return e.Err }

// RefusedError tells the engine that a handler's downstream is too busy: no
// attempt is counted, and the resource is left alone until After has passed.
type RefusedError struct {
	// After is how long the downstream asked to be left alone; 0: it did not say,
	// and flow control finds out by calling less and less often.
	After time.Duration
	// OfTenant says that a limit of the task's tenant was the cause: only this
	// tenant's work waits then.
	OfTenant bool
	Err      error
}

// Error tells the cause.
func (e *RefusedError) Error() string {
	if e.After <= 0 {
		return fmt.Sprintf("refused: %v", e.Err)
	}
	return fmt.Sprintf("refused, come back after %v: %v", e.After, e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// AsRefused finds a [RefusedError] in err.
func AsRefused(err error) (*RefusedError, bool) {
	var r *RefusedError
	return r, errors.As(err, &r)
}
