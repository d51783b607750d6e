package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/feed"
)

// Sources are read in entries of at most so many items, or so much time: what a
// crash has to read again.
const (
	importItems = 20_000
	importFor   = 2 * time.Second
	lookEvery   = 2 * time.Second
)

// look has the keeper look at the drafts now.
func (s *Service) look() {
	select {
	case s.wake <- struct{}{}:
	default: // it was told
	}
}

// keepDrafts goes on with drafts that something has to happen to, until ctx ends.
func (s *Service) keepDrafts(ctx context.Context) {
	busy := map[string]bool{}
	done := make(chan string)
	tick, sweep := time.NewTicker(lookEvery), time.NewTicker(time.Hour)
	defer tick.Stop()
	defer sweep.Stop()
	for {
		for e, err := range s.drafts.All(ctx, "") {
			if err != nil {
				if ctx.Err() == nil {
					s.log.Warn("drafts not read, will look again", "error", err)
				}
				break
			}
			d := e.Value
			if busy[e.Name] || !s.engine.Owns(weir.BulkID(e.Name)) || !s.due(&d) {
				continue
			}
			busy[e.Name] = true
			go func() {
				s.advance(ctx, e.Name, &d)
				done <- e.Name
			}()
		}
		select {
		case <-ctx.Done():
			for range busy {
				<-done
			}
			return
		case id := <-done:
			delete(busy, id)
		case <-tick.C:
		case <-s.wake:
		case <-sweep.C:
			if err := s.files().Sweep(ctx, time.Now().Add(-uploadsFor)); err != nil && ctx.Err() == nil {
				s.log.Warn("old uploads not removed, will be tried again", "error", err)
			}
		}
	}
}

// due reports whether something has to happen to a draft.
func (s *Service) due(d *draft) bool {
	switch d.State {
	case isScheduled:
		return !d.StartAt.After(time.Now())
	case isImporting:
		return true
	case isSealing:
		return true
	}
	return time.Since(d.Touched) > s.opts.DraftFor
}

// advance does what a draft is due for.
func (s *Service) advance(ctx context.Context, id string, d *draft) {
	var err error
	switch d.State {
	case isScheduled, isImporting:
		err = s.readSource(ctx, id, d)
	case isSealing:
		err = s.endSeal(ctx, id)
	default:
		s.log.Info("removing a draft that nobody has touched for long", "bulk_action", id)
		err = s.removeDraft(ctx, id)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("draft does not get on, will be tried again", "bulk_action", id, "error", err)
	}
}

// endSeal ends a seal that a crash has interrupted, or takes it back if it was never written.
func (s *Service) endSeal(ctx context.Context, id string) error {
	sum, err := s.readLog(ctx, id)
	if err != nil {
		return err
	}
	if sum.sealed != nil {
		if time.Since(sum.sealed.At) < lookEvery {
			return nil // whoever sealed it is at work
		}
		_, err = s.finish(ctx, id)
		return err
	}
	_, err = s.drafts.Update(ctx, id, func(d *draft) error { d.State = isDraft; return nil })
	return err
}

// readSource reads the source of a draft to its end, and then seals it.
func (s *Service) readSource(ctx context.Context, id string, d *draft) error {
	if d.State == isScheduled {
		e, err := s.drafts.Update(ctx, id, func(d *draft) error { d.State = isImporting; return nil })
		if err != nil {
			return err
		}
		*d = e.Value
	}
	f, err := s.open(d)
	if err != nil {
		return s.failDraft(ctx, id, err)
	}
	defer f.Close()
	for {
		sum, err := s.readLog(ctx, id)
		if err != nil {
			return err
		}
		if sum.sealed != nil {
			break
		}
		if sum.last.Last {
			if err := s.write(ctx, id, part{Seal: &seal{Start: true, At: time.Now().UTC()}}, s.stillOpen(sum)); err != nil && !errors.Is(err, errOvertaken) {
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
	}
	_, err = s.finish(ctx, id)
	if refusedAtAll(err) {
		return s.failDraft(ctx, id, err)
	}
	return err
}

func (s *Service) wasCancelled(ctx context.Context, id string) (bool, error) {
	d, err := s.getDraft(ctx, id)
	return d.State == isCancelled || errors.Is(err, weir.ErrNotFound), ignoreGone(err)
}

func ignoreGone(err error) error {
	if errors.Is(err, weir.ErrNotFound) {
		return nil
	}
	return err
}

var errOvertaken = errors.New("another node was faster")

// stillOpen refuses an entry if the log is not what it was.
func (s *Service) stillOpen(sum draftSum) func(*draftLog) error {
	return func(l *draftLog) error {
		if l.next != sum.parts {
			return errOvertaken
		}
		return nil
	}
}

// readPart reads a stretch of the source, sets its items aside, and writes both
// the items and the place to go on from as one entry.
func (s *Service) readPart(ctx context.Context, id string, d *draft, f feed.Feed, sum draftSum) error {
	p := part{Cursor: sum.last.Cursor}
	stage, err := s.engine.Stage(ctx, weir.BulkID(id), duplicateRule(d.Spec.Duplicates), s.stretch(ctx, f, &p))
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
	if err != nil {
		_ = s.engine.DropStage(context.WithoutCancel(ctx), stage) // else the next start does it
	}
	if errors.Is(err, errOvertaken) {
		return nil
	}
	return err
}

// stretch yields the items of some pages, and leaves in p where they end. An error
// after the first page is left for the next stretch to meet again.
func (s *Service) stretch(ctx context.Context, f feed.Feed, p *part) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		began, n := time.Now(), 0
		for n < importItems && time.Since(began) < importFor && !p.Last {
			page, err := f.Read(ctx, feed.Cursor(p.Cursor))
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
			p.Cursor, p.Last = string(page.Next), page.Last
		}
	}
}

// readFailed ends a draft whose source is bad for good, and waits before the next
// try where it is not.
func (s *Service) readFailed(ctx context.Context, id string, err error) error {
	var forever *feed.PermanentError
	if errors.As(err, &forever) || refusedAtAll(err) {
		return s.failDraft(ctx, id, err)
	}
	wait := lookEvery
	if later := (*feed.TransientError)(nil); errors.As(err, &later) && later.Wait > 0 {
		wait = later.Wait
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	s.look()
	return err
}

// failDraft ends a draft that cannot go on.
func (s *Service) failDraft(ctx context.Context, id string, why error) error {
	e, err := s.drafts.Update(ctx, id, func(d *draft) error { d.State, d.Reason = isFailed, why.Error(); return nil })
	if err != nil {
		return err
	}
	s.log.Info("source cannot be read", "bulk_action", id, "error", why)
	return s.tellFailed(ctx, id, &e.Value)
}

// checkSource says what is wrong with a source, without reaching out.
func (s *Service) checkSource(n *api.NewBulkAction, tenant string) error {
	if n.Source.Upload != "" {
		ctx, cancel := context.WithTimeout(s.life, 5*time.Second)
		defer cancel()
		return s.checkUpload(ctx, n.Source.Upload, tenant)
	}
	spec, err := feedSpec(n)
	if err != nil {
		return err
	}
	if g := n.Source.Segment; g != nil {
		if _, err := s.opts.Guard.CheckURL("source.segment.url", g.URL); err != nil {
			return err
		}
	}
	f, err := feed.Open(spec, s.connection(tenant), s.world)
	if err != nil {
		return err
	}
	return f.Close()
}

func (s *Service) open(d *draft) (feed.Feed, error) {
	if id := d.Spec.Source.Upload; id != "" {
		return &uploadFeed{all: s.files(), id: id, itemID: d.Spec.ItemID}, nil
	}
	spec, err := feedSpec(&d.Spec)
	if err != nil {
		return nil, err
	}
	return feed.Open(spec, s.connection(d.Tenant), s.world)
}

// feedSpec is the source in the words of package feed, which are the API's.
func feedSpec(n *api.NewBulkAction) (spec feed.Spec, err error) {
	raw, err := json.Marshal(n.Source)
	if err == nil {
		err = json.Unmarshal(raw, &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("source: %w", err)
	}
	spec.ID = n.ItemID
	return spec, nil
}
