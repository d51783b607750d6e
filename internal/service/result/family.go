package result

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/report"
)

// family returns a bulk action, its retries and their retries, the oldest first.
func family(ctx context.Context, b *engine.BulkAction) ([]*engine.BulkAction, error) {
	list := []*engine.BulkAction{b}
	for i := 0; i < len(list); i++ {
		retries, err := list[i].Retries(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, retries...)
	}
	return list, nil
}

// past is an item with its history in a bulk action and its retries.
type past struct {
	row    report.Row // as of the newest of them
	in     weir.BulkID
	no     int64    // its number in the oldest of them
	of     int64    // its key number in the bulk action that is retried
	passed []string // the steps, the oldest first
}

// history yields the rows of a bulk action that o selects, with their history, including retries; retries finds those of a
// bulk action. A retry holds its items in the order of the bulk action that it retries, and each item is in
// at most one retry, so they are merged with a block of each in memory.
func history(ctx context.Context, b *engine.BulkAction, o engine.RowOptions, retries findRetries) iter.Seq2[past, error] {
	return func(yield func(past, error) bool) {
		made, err := retries(ctx, b)
		if err != nil {
			yield(past{}, err)
			return
		}
		later := make([]*upcoming, 0, len(made))
		for _, r := range made {
			next, stop := iter.Pull2(history(ctx, r, engine.RowOptions{}, retries))
			defer stop()
			u := &upcoming{next: next}
			u.step()
			later = append(later, u)
		}
		for row, err := range b.Rows(ctx, o) {
			p := past{row: row, in: b.ID(), no: row.No, of: row.RetryNo}
			if err == nil {
				p.passed = append(p.passed, b.Passed(&row)...)
				err = p.goOn(row.KeyNo, later)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// findRetries finds the retries of a bulk action.
type findRetries func(context.Context, *engine.BulkAction) ([]*engine.BulkAction, error)

// allRetries fails if a retry is no longer kept.
func allRetries(ctx context.Context, b *engine.BulkAction) ([]*engine.BulkAction, error) {
	return b.Retries(ctx)
}

// keptRetries leaves out what is no longer kept: its items count as they ended before.
func keptRetries(ctx context.Context, b *engine.BulkAction) ([]*engine.BulkAction, error) {
	return b.KeptRetries(ctx)
}

// upcoming is the next item of a retry.
type upcoming struct {
	next func() (past, error, bool)
	past past
	err  error
	more bool
}

func (u *upcoming) step() { u.past, u.err, u.more = u.next() }

// goOn adds a retry's work on the item with a key number, if a retry has it. Items before it are passed over.
func (p *past) goOn(key int64, later []*upcoming) error {
	for _, u := range later {
		for u.err == nil && u.more && u.past.of < key {
			u.step()
		}
		if u.err != nil {
			return u.err
		}
		if u.more && u.past.of == key {
			stillUnclear(&u.past.row, &p.row)
			p.row, p.in, p.passed = u.past.row, u.past.in, append(p.passed, u.past.passed...)
			u.step()
		}
	}
	return nil
}

// closeFamily records that a bulk action and all its retries are being undone: from then on
// nothing of them can be retried. It fails if a retry began in the meantime.
func (s *Results) closeFamily(ctx context.Context, b *engine.BulkAction, by string) error {
	for closed := map[weir.BulkID]bool{}; ; {
		all, err := family(ctx, b)
		if err != nil || len(all) == len(closed) {
			return err
		}
		for _, x := range all {
			if closed[x.ID()] {
				continue
			}
			if err := s.restsFor(ctx, b, x); err != nil {
				return err
			}
			if err := s.noteUndone(ctx, string(x.ID()), by); err != nil {
				return err
			}
			closed[x.ID()] = true
		}
	}
}

// restsFor refuses the undo of b while x, which is b or one of its retries, has not ended.
func (s *Results) restsFor(ctx context.Context, b, x *engine.BulkAction) error {
	p, err := x.Now(ctx)
	if err != nil || p.State.Final() {
		return err
	}
	what := fmt.Sprintf("%s is %v", x.ID(), bulk.StateOf(p.State))
	if x.ID() != b.ID() {
		what = fmt.Sprintf("%s, a retry of %s, is %v", x.ID(), x.Info().RetryOf, bulk.StateOf(p.State))
	}
	return &check.Refusal{Code: "wrong_state", Detail: what, Fix: "wait until it ends, or cancel it first"}
}

// noteUndone records which bulk action undoes another. It refuses while a retry is being created.
func (s *Results) noteUndone(ctx context.Context, id, by string) error {
	if _, err := s.finishBegun(ctx, id); err != nil {
		return err
	}
	_, err := s.handled.Put(ctx, id, func(v *handled, _ bool) error {
		for i := range v.Entries {
			if v.Entries[i].Pending {
				return &check.Refusal{Code: "in_progress", Detail: "a retry of " + id + " is being created",
					Fix: "send the request again", RetryAfter: time.Second}
			}
		}
		v.UndoneBy = by
		return nil
	})
	return err
}

// openFamily reverts closeFamily after the undo was refused.
func (s *Results) openFamily(ctx context.Context, b *engine.BulkAction) error {
	all, err := family(ctx, b)
	if err != nil {
		return err
	}
	for _, x := range all {
		_, err := s.handled.Update(ctx, string(x.ID()), func(v *handled) error { v.UndoneBy = ""; return nil })
		if err := records.IgnoreGone(err); err != nil {
			return err
		}
	}
	return nil
}
