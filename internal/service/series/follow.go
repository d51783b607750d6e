package series

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
)

const (
	// writeShare is the part of the time between two samples that writing may take. What was not
	// written is written first the next time.
	writeShare = 4
	// writers is how many records are written at once.
	writers = 8
	// mostLate bounds the samples of a bulk action that are held, and mostBehind the bulk actions that
	// have some. Joining or dropping samples costs detail: the sums stay right.
	mostLate   = 8
	mostBehind = 20_000
)

// behind is a bulk action with samples that are not stored yet.
type behind struct {
	id      weir.BulkID
	started time.Time
	samples []series.Sample // oldest first
}

// backlog holds the samples that are not stored yet.
type backlog struct {
	byID map[weir.BulkID]*behind
}

// add takes a sample of a bulk action that moved.
func (b *backlog) add(m *engine.Moved) {
	if m.Started.IsZero() {
		return // it was held, and has not run
	}
	x := b.byID[m.ID]
	if x == nil {
		if len(b.byID) >= mostBehind {
			return
		}
		if b.byID == nil {
			b.byID = map[weir.BulkID]*behind{}
		}
		x = &behind{id: m.ID, started: m.Started}
		b.byID[m.ID] = x
	}
	x.samples = append(x.samples, sampleOf(m))
	if n := len(x.samples); n > mostLate {
		for i := range n / 2 {
			x.samples[i] = series.Join(x.samples[2*i], x.samples[2*i+1])
		}
		if n%2 == 1 {
			x.samples[n/2] = x.samples[n-1]
		}
		x.samples = x.samples[:(n+1)/2]
	}
}

// oldest returns the bulk actions in the order in which they should be written.
func (b *backlog) oldest() []*behind {
	all := make([]*behind, 0, len(b.byID))
	for _, x := range b.byID {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *behind) int {
		return cmp.Or(a.samples[0].At.Compare(b.samples[0].At), cmp.Compare(a.id, b.id))
	})
	return all
}

// follow adds a point to the series of every bulk action that moved.
func (s *Series) follow(ctx context.Context, moved []engine.Moved) error {
	for i := range moved {
		s.late.add(&moved[i])
	}
	end := time.Now().Add(s.every / writeShare)
	todo := s.late.oldest()
	stored, errs := make([]bool, len(todo)), make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < len(todo) && errs[w] == nil && (i < writers || time.Now().Before(end)); i += writers {
				errs[w] = s.write(ctx, todo[i])
				stored[i] = errs[w] == nil
			}
		})
	}
	all.Wait()
	for i, x := range todo {
		if stored[i] {
			delete(s.late.byID, x.id)
		}
	}
	return errors.Join(errs...)
}

// begin returns the series of a bulk action that has just started.
func (s *Series) begin(started time.Time) *series.Life {
	l := series.NewLife(bulkMeasures, started.Truncate(time.Millisecond), s.every, mostPoints) // as exact as it is stored
	l.Until = started
	return l
}

// continues has a series go on with what is stored. If that is damaged, it begins anew.
func (v *life) continues(l *series.Life, id string) {
	if old, err := decode(bulkMeasures, id, v.Points); err == nil {
		l.Series, l.Until = *old, v.Until
	}
}

// write stores the samples of a bulk action. A store without room for a new record does without.
func (s *Series) write(ctx context.Context, x *behind) error {
	_, err := s.lives.Put(ctx, string(x.id), func(v *life, found bool) error {
		l := s.begin(x.started)
		if found {
			v.continues(l, string(x.id))
		}
		for _, p := range x.samples {
			l.Add(p)
		}
		v.Points, v.Until = l.Encode(), l.Until.UTC()
		return nil
	})
	if errors.Is(err, store.ErrFull) || errors.Is(err, records.ErrTooBig) {
		return nil
	}
	return err
}
