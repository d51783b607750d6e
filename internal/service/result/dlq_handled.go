package result

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

// handled records which items of a bulk action were retried or discarded. An entry takes the items
// that match its selector and that no earlier entry took, so the record stays small for any number
// of items.
type handled struct {
	Entries []handling `json:"entries"`
	// Taken counts the items per error group that completed entries took.
	Taken []taken `json:"taken,omitempty"`
	// UndoneBy is the bulk action that undoes this one: nothing can be retried any more.
	UndoneBy string `json:"undone_by,omitempty"`
}

// handling is one retry or discard.
type handling struct {
	Key   string    `json:"key"`
	Kind  string    `json:"kind"` // retry or discard
	Which selector  `json:"which,omitzero"`
	At    time.Time `json:"at"`
	Items int64     `json:"items"`
	// Only holds the numbers of the items, packed, if the bulk action had not ended: items that fail
	// later do not match.
	Only    []byte      `json:"only,omitempty"`
	Rate    stored.Rate `json:"rate,omitempty"`
	NewKeys bool        `json:"new_keys,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Name    string      `json:"name,omitempty"` // of the bulk actions of a retry; empty: made of the name of this one
	// Pending is set until the bulk actions of a retry were created; then Made lists them. Groups is
	// added to Taken.
	Pending bool     `json:"pending,omitempty"`
	Groups  []taken  `json:"groups,omitempty"`
	Made    []string `json:"made,omitempty"`
}

// taken counts the items of an error group that were taken.
type taken struct {
	Step    string `json:"step"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Items   int64  `json:"items"`
}

// selector selects items; an empty field matches any.
type selector struct {
	State   report.State `json:"state,omitempty"` // cancelled; empty: failed
	Step    string       `json:"step,omitempty"`
	Action  string       `json:"action,omitempty"`
	Code    string       `json:"code,omitempty"`
	Message string       `json:"message,omitempty"` // that of a group
	Filter  string       `json:"filter,omitempty"`  // an expression
}

// ended returns the final state of the selected items.
func (s *selector) ended() report.State { return cmp.Or(s.State, report.StateFailed) }

const discarded = "discard"

func (h *handled) find(key string) (int, *handling) {
	for i := range h.Entries {
		if h.Entries[i].Key == key {
			return i, &h.Entries[i]
		}
	}
	return -1, nil
}

// keys identifies the set of entries, to detect changes.
func (h *handled) keys() string {
	var all []string
	for i := range h.Entries {
		all = append(all, h.Entries[i].Key)
	}
	return strings.Join(all, "\x00")
}

// take adds the items that an entry took.
func (h *handled) take(groups []taken) {
	known := map[taken]int{}
	kind := func(t taken) taken { t.Items = 0; return t }
	for i, t := range h.Taken {
		known[kind(t)] = i
	}
	for _, g := range groups {
		at, ok := known[kind(g)]
		if !ok {
			known[kind(g)] = len(h.Taken)
			h.Taken = append(h.Taken, g)
			continue
		}
		h.Taken[at].Items += g.Items
	}
}

// choice selects the rows that an entry takes.
type choice struct {
	before []selection // of the entries before it
	own    selection
}

// selection is a compiled selector.
type selection struct {
	selector
	filter *mapping.Filter
	only   *numbers // nil: any item the selector matches
	extra  *stored.Extra
	normal []byte
}

func newChoice(before []handling, h *handling, x *stored.Extra) (*choice, error) {
	c := &choice{}
	var err error
	for i := range before {
		sel, err := newSelection(&before[i], x)
		if err != nil {
			return nil, err
		}
		c.before = append(c.before, sel)
	}
	c.own, err = newSelection(h, x)
	return c, err
}

func newSelection(h *handling, x *stored.Extra) (selection, error) {
	sel := selection{selector: h.Which, extra: x}
	var err error
	if h.Only != nil {
		sel.only, err = unpackNumbers(h.Only)
		return sel, err
	}
	if h.Which.Filter != "" {
		sel.filter, err = mapping.CompileFilter("filter", h.Which.Filter)
	}
	return sel, err
}

// takes reports whether an item matches and was not taken before.
func (c *choice) takes(r *report.Row) (bool, error) {
	for i := range c.before {
		if yes, err := c.before[i].means(r); yes || err != nil {
			return false, err
		}
	}
	return c.own.means(r)
}

// means reports whether the selector matches an item.
func (s *selection) means(r *report.Row) (bool, error) {
	if r.LeftOut || r.State != s.ended() {
		return false, nil
	}
	if s.only != nil {
		return s.only.has(r.No), nil
	}
	if s.Step != "" && s.Step != r.Step || !hasCode(r, s.Code) || s.Action != "" && s.Action != s.extra.ActionOf(r.Step) {
		return false, nil
	}
	if s.Message != "" {
		if s.normal = fault.AppendNormal(s.normal[:0], r.Message); string(s.normal) != s.Message {
			return false, nil
		}
	}
	if s.filter == nil {
		return true, nil
	}
	return s.filter.Match(mapping.Row{
		ID: r.ID, State: string(r.State), Step: r.Step, Code: r.Code, Message: r.Message, Attempts: r.Attempts,
		Item: r.Data, Output: r.Output,
	})
}

// begin records an entry, unless one with its key exists, and returns the key. It counts the items
// first; an entry that takes nothing is an error.
func (s *Results) begin(ctx context.Context, id string, h *handling) (string, error) {
	if _, err := s.finishBegun(ctx, id); err != nil {
		return "", err
	}
	for {
		e, err := s.handled.Get(ctx, id)
		if err != nil && !errors.Is(err, weir.ErrNotFound) {
			return "", err
		}
		if _, have := e.Value.find(h.Key); have != nil {
			if have.Which != h.Which || have.Kind != h.Kind {
				return "", fmt.Errorf("%w: the key was already used with different items", weir.ErrConflict)
			}
			return h.Key, nil
		}
		if by := e.Value.UndoneBy; by != "" {
			return "", &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is undone by %s", id, by),
				Fix: "submit the items as a new bulk action"}
		}
		if err := s.count(ctx, id, e.Value.Entries, h); err != nil {
			return "", err
		}
		seen := e.Value.keys()
		_, err = s.handled.Put(ctx, id, func(v *handled, _ bool) error {
			if v.keys() != seen || v.UndoneBy != "" {
				return errMoved
			}
			next := *h
			if !next.Pending {
				v.take(next.Groups)
				next.Groups = nil
			}
			v.Entries = append(v.Entries, next)
			return nil
		})
		if errors.Is(err, records.ErrTooBig) {
			return "", &check.Refusal{Code: "wrong_state", Detail: id +
				" has not ended, and too many items match to record each one", Fix: "wait until it ends, or cancel it first"}
		}
		if !errors.Is(err, errMoved) {
			return h.Key, err
		}
	}
}

var errMoved = errors.New("the record changed during the update")

// count sets how many items an entry takes.
func (s *Results) count(ctx context.Context, id string, before []handling, h *handling) error {
	b, x, err := s.bulks.WithExtra(ctx, id)
	if err != nil {
		return err
	}
	now, err := b.Now(ctx) // before the items: once it has ended, no more items fail
	if err != nil {
		return err
	}
	meant, err := newChoice(before, h, &x)
	if err != nil {
		return err
	}
	h.Items, h.Only, h.Groups = 0, nil, nil
	var only numbers
	groups := map[taken]int64{}
	var normal []byte
	for one, err := range b.Rows(ctx, engine.RowOptions{State: h.Which.ended()}) {
		if err != nil {
			return err
		}
		if yes, err := meant.takes(&one); err != nil {
			return err
		} else if !yes {
			continue
		}
		h.Items++
		only.add(one.No)
		if one.State != report.StateFailed {
			continue // it is in no error group
		}
		normal = fault.AppendNormal(normal[:0], one.Message)
		groups[taken{Step: one.Step, Code: one.Code, Message: string(normal)}]++
	}
	if h.Items == 0 {
		return noneLeft(b.ID(), &now, h.Which.ended(), before)
	}
	h.Groups = s.grouped(groups)
	if !now.State.Final() {
		h.Only = only.pack()
	}
	return nil
}

func noneLeft(id weir.BulkID, now *weir.Progress, state report.State, before []handling) error {
	if len(before) == 0 {
		return engine.NoItemsToRetry(id, now.Steps, state)
	}
	return &weir.FieldError{
		Code: "no_items", Problem: fmt.Sprintf("every matching %s item of %s was already retried or discarded", state, id),
		Fix: "its report lists the retries; items that failed in a retry can be retried there",
	}
}

// mostTaken bounds the groups of an entry. A bulk action seldom has more, and the rest counts as
// one.
const mostTaken = 200

// grouped lists groups in a fixed order.
func (s *Results) grouped(by map[taken]int64) []taken {
	var list []taken
	for g, n := range by {
		g.Items = n
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b taken) int {
		if a.Items != b.Items {
			return int(b.Items - a.Items)
		}
		return strings.Compare(a.Step+"\x00"+a.Code+"\x00"+a.Message, b.Step+"\x00"+b.Code+"\x00"+b.Message)
	})
	if len(list) <= mostTaken {
		return list
	}
	rest := map[string]int64{}
	for _, g := range list[mostTaken:] {
		rest[g.Step] += g.Items
	}
	list = list[:mostTaken]
	for step, n := range rest {
		list = append(list, taken{Step: step, Code: bulk.OtherCode, Items: n})
	}
	return list
}

// settleHandling records that a retry was carried out.
func (s *Results) settleHandling(ctx context.Context, id, key string, made []string) error {
	_, err := s.handled.Update(ctx, id, func(v *handled) error {
		_, h := v.find(key)
		if h == nil || !h.Pending {
			return nil
		}
		v.take(h.Groups)
		h.Pending, h.Groups, h.Made = false, nil, made
		return nil
	})
	return err
}

// takeBack removes an entry that could not be carried out.
func (s *Results) takeBack(ctx context.Context, id, key string) error {
	_, err := s.handled.Update(ctx, id, func(v *handled) error {
		v.Entries = slices.DeleteFunc(v.Entries, func(h handling) bool { return h.Key == key && h.Pending })
		return nil
	})
	return err
}

// begunFor is how long a retry may be under way before another node carries it out.
const begunFor = time.Minute

// finishBegun carries out recorded retries that did not finish, for example because a node
// crashed, and returns the current record. Those of a run of weir run are left to it.
func (s *Results) finishBegun(ctx context.Context, id string) (handled, error) {
	e, err := s.handled.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return handled{}, nil
	}
	if err != nil {
		return handled{}, err
	}
	late := false
	for i := range e.Value.Entries {
		if h := &e.Value.Entries[i]; h.Pending && time.Since(h.At) > begunFor {
			if b, err := s.bulks.Bulk(ctx, id); err == nil && bulk.RefuseRetry(b) != nil {
				return e.Value, nil
			}
			late = true
			if _, err := s.carryOut(ctx, id, h.Key); err != nil && !check.Invalid(err) {
				return handled{}, err
			}
		}
	}
	if !late {
		return e.Value, nil
	}
	e, err = s.handled.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		err = nil
	}
	return e.Value, err
}
