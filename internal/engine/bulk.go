package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// BulkAction is a bulk action that was accepted: what can be read of it, and commands to it.
type BulkAction struct {
	*readback.Bulk
	engine  *Engine
	sent    atomic.Pointer[string] // mark of the last command of this handle; nil: it sent none
	resumed atomic.Int64           // 1 + the resumes that had been read when this handle sent its last; 0: it sent none
}

type (
	// Report is what became of a bulk action: the summary, and every item.
	Report = readback.Report
	// RowOptions says which items [BulkAction.Rows] yields.
	RowOptions = readback.RowOptions
	// LookupOptions narrows a [Engine.Lookup].
	LookupOptions = readback.LookupOptions
	// Found is one item and what became of it.
	Found = readback.Found
	// Filter selects bulk actions.
	Filter = readback.Filter
	// Span bounds bulk actions by their ids.
	Span = partition.Span
	// FailingPart is some of the bulk actions with failed items.
	FailingPart = readback.FailingPart
	// Answer says what became of a command.
	Answer = partition.Answer
	// Info is what a bulk action was asked to be, with the changes since.
	Info = readback.Info
)

// The answers to a command; see [partition.Answer].
const (
	Unread  = partition.Unread
	Obeyed  = partition.Obeyed
	Ignored = partition.Ignored
)

// Get finds a bulk action that was accepted earlier, by this process or one before.
func (e *Engine) Get(ctx context.Context, id weir.BulkID) (*BulkAction, error) {
	b, err := e.reader.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &BulkAction{Bulk: b, engine: e}, nil
}

// NameMatches reports whether a search for a text matches the name of a bulk action: each word of the text is how a word
// of the name begins, in any case and order.
func NameMatches(name, text string) bool {
	s := partition.NewSearch(text)
	return s.Match(name)
}

// CreatedAt returns when the id of a bulk action or of a draft was made, to the millisecond. Lists are in that order.
func CreatedAt(id weir.BulkID) time.Time { return stored.Began(id).UTC() }

// FirstAt returns where the ids begin that are made at a time or later: all of those are greater, and all others less.
func FirstAt(at time.Time) weir.BulkID { return stored.FirstAt(at) }

// Page returns bulk actions that a filter selects, the newest first; see [readback.Reader.Page].
func (e *Engine) Page(ctx context.Context, f Filter, limit int) (list []*BulkAction, next weir.BulkID, err error) {
	found, next, err := e.reader.Page(ctx, f, limit)
	for _, b := range found {
		list = append(list, &BulkAction{Bulk: b, engine: e})
	}
	return list, next, err
}

// FailingParts lists the parts in which bulk actions have failed items. Only those of parts whose mark has changed have
// others than before, or other failures.
func (e *Engine) FailingParts(ctx context.Context) ([]FailingPart, error) {
	return e.reader.FailingParts(ctx)
}

// FailingIn lists the bulk actions of a part with failed items, the oldest first.
func (e *Engine) FailingIn(ctx context.Context, p FailingPart) ([]weir.BulkID, error) {
	return e.reader.FailingIn(ctx, p)
}

// Unfinished lists the bulk actions that have not ended, the newest first.
func (e *Engine) Unfinished(ctx context.Context) ([]weir.BulkID, error) {
	return e.reader.Unfinished(ctx)
}

// Lookup yields the items with that id in all bulk actions, newest first.
func (e *Engine) Lookup(ctx context.Context, id string, o LookupOptions) iter.Seq2[Found, error] {
	return e.reader.Lookup(ctx, id, o)
}

// List yields every bulk action that was accepted, oldest first within each partition.
func (e *Engine) List(ctx context.Context) iter.Seq2[*BulkAction, error] {
	return func(yield func(*BulkAction, error) bool) {
		for p := range e.layout.Now().Most {
			ids, err := stored.IDs(ctx, e.store, p, e.layout.Now().Most, stored.All)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, id := range ids {
				b, err := e.Get(ctx, id)
				if errors.Is(err, weir.ErrExpired) {
					continue // since
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

// Pause lets running tasks finish and starts no more. One that has not started is held
// by Unschedule.
func (b *BulkAction) Pause(ctx context.Context, reason string) error {
	return b.command(ctx, partition.Command{Verb: partition.Pause, Reason: reason})
}

// Resume goes on after a pause, or after a failure rule stopped it.
func (b *BulkAction) Resume(ctx context.Context, reason string) error {
	return b.command(ctx, partition.Command{Verb: partition.Resume, Reason: reason})
}

// Cancel ends every item that is not running; running tasks finish. Its cost does not depend on the number of items.
func (b *BulkAction) Cancel(ctx context.Context, reason string) error {
	return b.command(ctx, partition.Command{Verb: partition.Cancel, Reason: reason})
}

// Start starts a bulk action that was submitted with Hold, or has it start at a
// time to come. One that runs already is left alone.
func (b *BulkAction) Start(ctx context.Context, at time.Time) error {
	c := partition.Command{Verb: partition.Start}
	if !at.IsZero() {
		c.At = at.UnixNano()
	}
	return b.command(ctx, c)
}

// Unschedule holds a bulk action that would start by itself.
func (b *BulkAction) Unschedule(ctx context.Context) error {
	return b.command(ctx, partition.Command{Verb: partition.Unset})
}

// Approve runs the rest after the canary.
func (b *BulkAction) Approve(ctx context.Context, reason string) error {
	return b.command(ctx, partition.Command{Verb: partition.Approve, Reason: reason})
}

// Change changes the rules of a bulk action, also while it runs.
func (b *BulkAction) Change(ctx context.Context, r weir.Rules, reason string) error {
	return b.change(ctx, r, partition.Command{Reason: reason})
}

// ChangeIf changes the rules only if they are still those that b was got with when the
// owner reads the command. The change is then known by its mark.
func (b *BulkAction) ChangeIf(ctx context.Context, r weir.Rules, reason, mark string) error {
	return b.change(ctx, r, partition.Command{Reason: reason, Of: &b.Spec.Rules, Mark: mark})
}

// Changes is how often the rules had been changed when b was got, and the mark of the last change.
func (b *BulkAction) Changes() (n uint64, mark string) { return b.Spec.Rules, b.Spec.RulesBy }

func (b *BulkAction) change(ctx context.Context, r weir.Rules, how partition.Command) error {
	var bad weir.InputError
	c := *b.Spec
	if r.Tier != nil {
		c.Tier = *r.Tier
	}
	if r.Priority != nil {
		c.Priority = *r.Priority
	}
	if r.Concurrency != nil {
		c.Concurrency = *r.Concurrency
	}
	if r.StopOn != nil {
		checkStopOn(r.StopOn, &bad)
	}
	checkLimits(&c, "", &bad)
	set := map[string]weir.Rate{} // without those that are taken away
	for step, rate := range r.Rates {
		if set[step] = rate; rate == 0 {
			delete(set, step)
		}
	}
	checkRates(&c, set, &bad)
	if err := bad.OrNil(); err != nil {
		return fmt.Errorf("change %s: %w", b.ID(), err)
	}
	how.Verb, how.Rules = partition.Change, &r
	return b.command(ctx, how)
}

// command is durable when it returns, and takes effect as soon as the owner reads it.
func (b *BulkAction) command(ctx context.Context, c partition.Command) error {
	c.ID, c.Sent = b.ID(), time.Now().UnixNano()
	verb := c.Verb
	if verb != partition.Change {
		c.Mark = rand.Text()[:markLength]
	}
	if problem := badText(c.Reason, 256); problem != "" {
		return &weir.FieldError{Code: "bad_text", Field: "reason", Problem: problem, Fix: "use at most 256 printable characters"}
	}
	_, status, err := partition.ReadStatus(stored.At(ctx, b.engine.store, b.Home), b.ID())
	if err == nil && status.State.Final() {
		return fmt.Errorf("%s %s: %w as %v", verb, b.ID(), weir.ErrEnded, status.State)
	}
	if errors.Is(err, store.ErrNotFound) {
		if err := stored.Gone(ctx, b.engine.store, b.Home, b.ID()); err != nil {
			return fmt.Errorf("%s %s: %w", verb, b.ID(), err)
		}
	}
	if err := b.engine.past.Command(ctx, b.Home, c); err != nil {
		return fmt.Errorf("%s %s: %w", verb, b.ID(), err)
	}
	if verb == partition.Resume && status != nil {
		b.resumed.Store(status.Resumes + 1)
	}
	b.sent.Store(&c.Mark)
	return nil
}

// markLength is the length of the mark of a command, which a few others of the same bulk action must not have.
const markLength = 10

// Answer returns what became of the last command that b sent, as of now, which was got later.
func (b *BulkAction) Answer(now *BulkAction) Answer {
	if mark := b.sent.Load(); mark != nil && now.Status != nil {
		return now.Status.Answer(*mark)
	}
	return Unread
}

// HasUnread reports whether commands to the bulk action wait for its owner to read them.
func (b *BulkAction) HasUnread(ctx context.Context) (bool, error) {
	return stored.HasCommand(ctx, b.engine.store, b.Home, b.ID())
}

// Now is the newest durable progress.
func (b *BulkAction) Now(ctx context.Context) (weir.Progress, error) {
	p, _, err := b.now(ctx)
	return p, err
}

// now also tells whether a resume by this handle is still on its way to the owner.
func (b *BulkAction) now(ctx context.Context) (p weir.Progress, resuming bool, err error) {
	spec, status, err := partition.ReadStatus(stored.At(ctx, b.engine.store, b.Home), b.ID())
	if errors.Is(err, store.ErrNotFound) { // accepted, and not yet read by its owner
		if err := stored.Gone(ctx, b.engine.store, b.Home, b.ID()); err != nil {
			return p, false, err
		}
		return b.unread(), false, nil
	}
	if err != nil {
		return p, false, err
	}
	return b.progress(spec, status), b.resumed.Load() == status.Resumes+1, nil
}

// Found is how it was when [Engine.Get] found it, or when it was accepted: [BulkAction.Now] without another read.
func (b *BulkAction) Found() weir.Progress {
	if b.Status == nil {
		return b.unread()
	}
	return b.progress(b.Spec, b.Status)
}

// unread is how a bulk action is that its owner has not read of.
func (b *BulkAction) unread() weir.Progress {
	return weir.Progress{ID: b.ID(), State: b.firstState(), Canary: b.Spec.Canary != nil,
		Counts: weir.Counts{Total: b.Spec.Items, Ready: b.Spec.Items},
		Steps:  make([]weir.StepCounts, len(b.Spec.Steps)), Started: time.Unix(0, b.Spec.Submitted)}
}

func (b *BulkAction) progress(spec *partition.Created, status *partition.Status) weir.Progress {
	p := weir.Progress{
		ID: b.ID(), State: status.State, Canary: status.InCanary(), Reason: status.Reason,
		Counts: status.Standing(spec.Items), Steps: status.Steps,
		Started: status.Began(), LastError: status.Cause.LastError(spec.Steps), Due: status.DueLast(), AtRisk: status.AtRisk,
	}
	if status.State == weir.BulkRunning && !b.engine.TenantPaused(spec.Tenant) {
		p.Rate = status.Lately.Now(time.Now().UnixNano())
		p.Estimate(time.Now())
	}
	if status.State == weir.BulkRunning && status.Behind {
		p.WaitingOn = []string{partition.WordLate}
	}
	if status.State == weir.BulkRunning && status.Lately.At != 0 && b.engine.member.Running(b.Home) == nil {
		p.At = time.Unix(0, status.Lately.At)
	}
	if status.State.Final() {
		p.Finished = time.Unix(0, status.Finished)
	}
	return p
}

// firstState is what a bulk action is in until its owner has read of it.
func (b *BulkAction) firstState() weir.BulkState {
	switch {
	case b.Spec.Hold:
		return weir.BulkSealed
	case b.Spec.StartAt > time.Now().UnixNano():
		return weir.BulkScheduled
	}
	return weir.BulkRunning
}

// progressEvery is the least time between two values of Progress.
const progressEvery = 100 * time.Millisecond

// lookEvery is how often a follower to whom nothing new is shown asks the store
// whether the bulk action has come to rest: its partition may have had another
// owner then. While another node owns it, the store is the only way to see it, and asked more often.
const (
	lookEvery          = 5 * time.Second
	lookElsewhereEvery = 200 * time.Millisecond
)

// Progress yields how far the bulk action is, at most ten times a second. It ends when the bulk action
// has ended, or was stopped by its failure rule and its running calls have ended, when the engine stops, or with ctx.
func (b *BulkAction) Progress(ctx context.Context) iter.Seq[weir.Progress] {
	return func(yield func(weir.Progress) bool) { _ = b.follow(ctx, yield) }
}

// follow is Progress, and says why it ended before the bulk action did.
func (b *BulkAction) follow(ctx context.Context, yield func(weir.Progress) bool) error {
	w := b.engine.watches.join(b.ID()) // before the first look: what changes after it is not missed
	defer b.engine.watches.leave(b.ID(), w)
	var pace pace
	p, resuming, err := b.now(ctx)
	for err == nil {
		pace.fill(&p, b.engine.TenantPaused(b.Spec.Tenant))
		if !yield(p) || p.State.Final() || settled(&p) && !resuming {
			return nil
		}
		resuming = false
		err = b.next(ctx, w, &p)
	}
	return err
}

// next waits for newer progress, and at least progressEvery unless it is the last.
func (b *BulkAction) next(ctx context.Context, w *watch, p *weir.Progress) error {
	elsewhere := b.engine.member.Running(b.Home) == nil
	every := lookEvery
	if elsewhere {
		every = lookElsewhereEvery
	}
	early, look := time.NewTimer(progressEvery), time.NewTicker(every)
	defer early.Stop()
	defer look.Stop()
	for waited := false; ; {
		latest, known, changed, closed := b.engine.watches.get(w)
		if known && tellsMore(&latest, p) && (waited || settled(&latest)) {
			*p = latest
			return nil
		}
		if closed {
			return b.last(ctx, p)
		}
		select {
		case <-changed:
		case <-early.C:
			waited = true
		case <-look.C:
			stored, _, err := b.now(ctx)
			changed := elsewhere && (tellsMore(&stored, p) || (stored.Rate == 0) != (p.Rate == 0))
			if err == nil && (changed || settled(&stored) && (stored.State != p.State || !settled(p))) {
				*p = stored
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tellsMore reports whether p tells something that was does not. One with fewer items
// ended is older than what the store said at first.
func tellsMore(p, was *weir.Progress) bool {
	return p.Counts.Ended() >= was.Counts.Ended() &&
		(p.State != was.State || p.Counts != was.Counts || !slices.Equal(p.Steps, was.Steps) || !slices.Equal(p.WaitingOn, was.WaitingOn))
}

// last looks once more when the engine has stopped: the end may have become
// durable without being shown.
func (b *BulkAction) last(ctx context.Context, p *weir.Progress) error {
	stored, resuming, err := b.now(ctx)
	if err == nil && (resuming || !stored.State.Final() && stored.State != weir.BulkStopped) {
		err = weir.ErrClosed
	}
	if err == nil {
		*p = stored
	}
	return err
}

// settled reports whether nothing more happens by itself. After a stop, calls that were running still end.
func settled(p *weir.Progress) bool {
	return p.State.Final() || p.State == weir.BulkStopped && p.Counts.InFlight == 0
}

// Wait returns the report when the bulk action has ended, or was stopped by its failure rule and its
// running calls have ended.
func (b *BulkAction) Wait(ctx context.Context) (*Report, error) {
	if err := b.follow(ctx, func(weir.Progress) bool { return true }); err != nil {
		return nil, fmt.Errorf("wait for %s: %w", b.ID(), err)
	}
	return b.Report(ctx)
}

// pace estimates speed and remaining time from what went by.
type pace struct{ lately partition.Lately }

// fill sets them. A bulk action that does not run, or whose tenant is paused, has
// neither, and that time does not count afterwards.
func (q *pace) fill(p *weir.Progress, paused bool) {
	if p.State != weir.BulkRunning || paused {
		*q, p.Rate, p.Remaining = pace{}, 0, 0
		return
	}
	now := time.Now()
	if q.lately.At == 0 { // goes on from what the store says
		q.lately = partition.Lately{Rate: p.Rate, At: now.UnixNano(), Ended: p.Counts.Ended()}
	}
	q.lately.Note(now.UnixNano(), p.Counts.Ended())
	p.Rate = q.lately.Rate
	p.Estimate(now)
}
