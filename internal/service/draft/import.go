package draft

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/due"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
)

// A source is read in entries of at most so many items or so much time. A crash repeats at most
// one entry.
const (
	importItems = 20_000
	importFor   = 2 * time.Second
	lookEvery   = 2 * time.Second
	draftFor    = 7 * 24 * time.Hour // how long an untouched draft is kept
)

// Imports reads the sources of drafts, and finishes what a crash interrupted.
type Imports struct {
	*kept
	*files
	*rules
	*Appends
	*Seals
	runner *due.Runner[struct{}]
	// failed reports that a draft failed. It is called again until it returns nil.
	failed func(ctx context.Context, id string, d *Draft) error
}

// Run advances the drafts that are due, until ctx ends.
func (s *Imports) Run(ctx context.Context) { s.runner.Run(ctx) }

// find yields the drafts of this node that need work at a time.
func (s *Imports) find(ctx context.Context) iter.Seq2[due.Job[struct{}], error] {
	return func(yield func(due.Job[struct{}], error) bool) {
		for e, err := range s.drafts.All(ctx, "") {
			if err == nil && !s.engine.Owns(weir.BulkID(e.Name)) {
				continue
			}
			if !yield(due.Job[struct{}]{ID: e.Name, At: e.Value.dueAt()}, err) {
				return
			}
		}
	}
}

// dueAt returns when a draft needs work; the zero time: now.
func (d *Draft) dueAt() time.Time {
	switch {
	case d.State == Scheduled:
		return d.StartAt
	case d.State == Importing, d.State == Sealing, d.State == Submitted,
		d.State == Cancelled && d.Unsure, d.State == Failed && d.Untold:
		return time.Time{}
	}
	return d.Touched.Add(draftFor)
}

// work does what a draft is due for.
func (s *Imports) work(ctx context.Context, j due.Job[struct{}]) (due.Next, error) {
	d, err := s.Get(ctx, j.ID)
	if err != nil {
		return due.Next{}, records.IgnoreGone(err)
	}
	if at := d.dueAt(); at.After(time.Now()) {
		return due.At(at), nil
	}
	err = s.advance(ctx, j.ID, &d)
	if w, ok := errors.AsType[*waitError](err); ok {
		return due.Hold(time.Now().Add(w.wait)), nil
	}
	return due.Next{}, err
}

// advance does the work a draft is due for.
func (s *Imports) advance(ctx context.Context, id string, d *Draft) error {
	switch {
	case d.State == Scheduled, d.State == Importing:
		return s.readSource(ctx, id, d)
	case d.State == Sealing:
		return s.endSeal(ctx, id)
	case d.State == Submitted:
		_, err := s.submitted(ctx, id, nil)
		return err
	case d.State == Cancelled && d.Unsure:
		return s.endCancel(ctx, id, d)
	case d.State == Failed && d.Untold:
		return s.tellFailed(ctx, id, d)
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "removing an abandoned draft", slog.String("bulk_action", id))
	return s.removeDraft(ctx, id, d)
}

// waitError says how long to wait before a draft is looked at again.
type waitError struct{ wait time.Duration }

func (e *waitError) Error() string { return "not yet" }

// errNotYet means that another process works on a draft, or that its outcome is not known yet.
var errNotYet = &waitError{lookEvery}

// unsureFor is how long a submit may continue after its draft was cancelled.
const unsureFor = 10 * time.Minute

// endSeal finishes a seal that a crash interrupted, or withdraws it if it was never written.
func (s *Imports) endSeal(ctx context.Context, id string) error {
	sum, err := s.Sum(ctx, id)
	if err != nil {
		return err
	}
	if sum.sealed != nil {
		if s.finishing.has(id) || time.Since(sum.sealed.At) < lookEvery {
			return errNotYet // the request that sealed it is still at work
		}
		_, err = s.finish(ctx, id)
		return err
	}
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State == Sealing {
			d.State = Editing
		}
		return nil
	})
	if err != nil {
		return records.IgnoreGone(err)
	}
	if sum, err = s.Sum(ctx, id); err == nil && sum.sealed != nil { // it was being sealed after all
		err = s.staySealing(ctx, id)
	}
	return err
}

// endCancel cancels a draft that may have been submitted while it was cancelled. No process begins
// to submit a cancelled draft, and a submit that had begun ends before long.
func (s *Imports) endCancel(ctx context.Context, id string, d *Draft) error {
	_, err := s.submitted(ctx, id, nil)
	if !errors.Is(err, weir.ErrNotFound) {
		return err
	}
	if time.Since(d.Touched) < unsureFor {
		return errNotYet
	}
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error { d.Unsure = false; return nil })
	return records.IgnoreGone(err)
}

// readSource reads the source of a draft to its end, and then seals it.
func (s *Imports) readSource(ctx context.Context, id string, d *Draft) error {
	if d.State == Scheduled {
		layout := s.layoutOf(ctx, d)
		e, err := s.drafts.Update(ctx, id, func(d *Draft) error {
			if d.State != Scheduled { // for example, cancelled in the meantime
				return errNotYet
			}
			d.State, d.Layout = Importing, layout
			return nil
		})
		if err != nil {
			return err
		}
		*d = e.Value
	}
	f, err := s.Open(d)
	if err != nil {
		return s.failDraft(ctx, id, err)
	}
	defer f.Close()
	for {
		sum, err := s.Sum(ctx, id)
		if err != nil {
			return err
		}
		if sum.sealed != nil {
			break
		}
		if sum.last.Last {
			if err := s.write(ctx, id, part{Seal: &seal{Start: d.Start, At: time.Now().UTC()}}, s.stillOpen(sum)); err != nil &&
				!errors.Is(err, errOvertaken) {
				return err
			}
			continue
		}
		if gone, err := s.wasCancelled(ctx, id); gone || err != nil {
			return err
		}
		if err := s.readPart(ctx, id, d, f, sum); err != nil {
			return s.readFailed(ctx, id, err)
		}
		if d.Reason != "" { // it answers again
			if err := s.tellSource(ctx, id, ""); err != nil {
				return err
			}
			d.Reason = ""
		}
	}
	_, err = s.finish(ctx, id)
	if check.Refused(err) {
		return s.failDraft(ctx, id, err)
	}
	return err
}

func (s *Imports) wasCancelled(ctx context.Context, id string) (bool, error) {
	d, err := s.Get(ctx, id)
	return d.State == Cancelled || errors.Is(err, weir.ErrNotFound), records.IgnoreGone(err)
}

var errOvertaken = errors.New("another node made the change first")

// stillOpen refuses an entry if the log has changed.
func (s *Imports) stillOpen(sum Sum) func(*draftLog) error {
	return func(l *draftLog) error {
		if l.next != sum.parts {
			return errOvertaken
		}
		return nil
	}
}

// readPart reads a stretch of the source, stages its items, and writes the items and the new
// cursor as one entry.
func (s *Imports) readPart(ctx context.Context, id string, d *Draft, f feed.Feed, sum Sum) error {
	p := part{Cursor: sum.last.Cursor}
	stage, err := s.intake.Stage(ctx, weir.BulkID(id), duplicateRule(d.Spec.Duplicates), s.stretch(ctx, f, s.howTo(d), &p))
	if err != nil {
		return err
	}
	p.Stage = stage
	err = s.write(ctx, id, p, func(l *draftLog) error {
		if err := s.stillOpen(sum)(l); err != nil {
			return err
		}
		return s.roomFor(l, stage.Items)
	})
	if err != nil && !maybe(err) {
		_ = s.intake.DropStage(context.WithoutCancel(ctx), stage) // otherwise the next start removes it
	}
	if errors.Is(err, errOvertaken) {
		return nil
	}
	return err
}

// stretch yields the items of some pages, and leaves in p where they end. An error after the first
// page is ignored: the next stretch meets it again.
func (s *Imports) stretch(ctx context.Context, f feed.Feed, how HowToAppend, p *part) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		began, n := time.Now(), 0
		for n < importItems && time.Since(began) < importFor && !p.Last {
			page, err := f.Read(ctx, feed.Cursor(p.Cursor))
			if err == nil {
				err = how.pick(&page) // before any of it is yielded: a page is taken whole
			}
			if err != nil {
				if n == 0 {
					yield(weir.RawItem{}, err)
				}
				return
			}
			for _, it := range page.Items {
				if !yield(it, nil) {
					return
				}
			}
			n += len(page.Items)
			p.BadLines += page.Bad
			p.Cursor, p.Last = string(page.Next), page.Last
		}
	}
}

// tellSource records why a source cannot be read for now; empty: it can. It does not write the
// same reason twice.
func (s *Imports) tellSource(ctx context.Context, id, why string) error {
	d, err := s.Get(ctx, id)
	if err != nil || d.State != Importing || d.Reason == why {
		return records.IgnoreGone(err)
	}
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State == Importing {
			d.Reason = why
		}
		return nil
	})
	return records.IgnoreGone(err)
}

// readFailed fails a draft whose source is permanently bad. Otherwise it records the reason and
// waits before the next attempt.
func (s *Imports) readFailed(ctx context.Context, id string, err error) error {
	var forever *feed.PermanentError
	if errors.As(err, &forever) || check.Refused(err) {
		return s.failDraft(ctx, id, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if told := s.tellSource(ctx, id, "the source cannot be read, will retry: "+err.Error()); told != nil {
		return errors.Join(err, told)
	}
	wait := lookEvery
	if later := (*feed.TransientError)(nil); errors.As(err, &later) && later.Wait > 0 {
		wait = later.Wait
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "source cannot be read, will retry", slog.String("bulk_action", id), slog.Any("error", err))
	return &waitError{wait}
}

// reasonOf says why a draft cannot proceed, in the words of the API.
func reasonOf(why error) string {
	if twice := (*weir.DuplicateError)(nil); errors.As(why, &twice) {
		return fmt.Sprintf("id %q came before; set duplicates to keep_first or keep_all, or correct the data", twice.ID)
	}
	return why.Error()
}

// failDraft ends a draft that cannot proceed.
func (s *Imports) failDraft(ctx context.Context, id string, why error) error {
	e, err := s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State != Cancelled && d.State != Submitted {
			d.State, d.Reason, d.Untold = Failed, reasonOf(why), true
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e.Value.State != Failed {
		return nil
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "source cannot be read", slog.String("bulk_action", id), slog.Any("error", why))
	return s.tellFailed(ctx, id, &e.Value)
}

// Import makes an empty draft read its items from a source now; the draft is sealed then, but not
// started. The parameter by is the id of the caller's API key.
func (s *Imports) Import(ctx context.Context, id string, from api.Source, by string) error {
	sum, err := s.Sum(ctx, id)
	if err != nil {
		return err
	}
	d, err := s.Get(ctx, id)
	if err != nil {
		return s.notDraft(ctx, id, err)
	}
	source := stored.SourceOf(&from)
	d.Spec.Source = source
	if sum.parts > 0 {
		return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s already has %d items", id, sum.Items),
			Fix: "import into a draft without items"}
	}
	if err := s.checkSource(&d.Spec, d.Tenant, by); err != nil {
		var bad weir.InputError
		check.Add(&bad, err, "bad_source", "source")
		return &bad
	}
	if err := s.useUpload(ctx, id, source); err != nil {
		return err
	}
	layout := s.layoutOf(ctx, &d)
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State != Editing || d.Spec.Source != nil {
			return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s, or has a source", id, d.State),
				Fix: "import into a draft without a source"}
		}
		d.Spec.Source, d.State, d.Layout = source, Importing, layout
		return nil
	})
	if errors.Is(err, weir.ErrNotFound) { // it was submitted in the meantime
		err = s.notDraft(ctx, id, err)
	}
	if err != nil {
		return err
	}
	s.runner.Wake()
	return nil
}

// tellFailed reports that a draft failed, and records that it was reported.
func (s *Imports) tellFailed(ctx context.Context, id string, d *Draft) error {
	if err := s.failed(ctx, id, d); err != nil {
		return err
	}
	_, err := s.drafts.Update(ctx, id, func(d *Draft) error { d.Untold = false; return nil })
	return records.IgnoreGone(err)
}

// StartSource begins to read the source of a draft at a time; zero: now.
func (s *Imports) StartSource(ctx context.Context, id string, at time.Time) (did bool, err error) {
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error {
		did = d.State != Scheduled || !d.Start || !d.StartAt.Equal(at)
		if d.State != Editing && d.State != Scheduled || !did && at.IsZero() {
			return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s", id, d.State), Fix: "only a draft can be started"}
		}
		d.State, d.StartAt, d.Start = Scheduled, at, true
		return nil
	})
	if err == nil {
		s.runner.Wake()
	}
	return did, err
}
