package model

import (
	"cmp"

	"github.com/weirhq/weir/internal/core/sched"
)

// mind has the deadline of a bulk action looked at, if it has one, and ends it then.
func (b *bulk) mind() {
	if b.due() == 0 {
		return
	}
	if b.Deadline != 0 {
		b.m.At(b.at+int64(b.Deadline), b.cancel)
	}
	for _, p := range b.pieces {
		p.lookAhead()
	}
}

// due returns when it has to have ended, as the core sees it; 0: no such time.
func (b *bulk) due() int64 {
	by := cmp.Or(b.Deadline, b.Target)
	if by == 0 {
		return 0
	}
	return epoch + b.at + int64(by)
}

// lookAhead has the queue look whether the deadline will be met, until the end.
func (p *piece) lookAhead() {
	if p.cancelled || p.end >= 0 {
		return
	}
	look := p.part.queue.Look(p.m.clock(), p.queued, p.left())
	if look.Late && p.late == 0 {
		p.late = p.m.Now()
	}
	p.m.At(look.Again-epoch, p.lookAhead)
}

// left returns what a piece has left to do.
func (p *piece) left() (r sched.Rest) {
	for _, s := range p.steps {
		r.Pending, r.Own = append(r.Pending, s.here), append(r.Own, float64(s.own(s.no))/float64(len(p.pieces)))
		r.InFlight += s.flying
	}
	r.Pending[0] += p.rest / int64(len(p.pieces))
	return r
}

// cancel ends a bulk action at its deadline: nothing more of it starts.
func (b *bulk) cancel() {
	if b.end >= 0 {
		return
	}
	b.cancelled = true
	for _, p := range b.pieces {
		for _, s := range p.steps {
			p.offer(s)
		}
	}
	b.m.close(b)
}

// flown reports whether it was cancelled and nothing of it is in flight any more.
func (b *bulk) flown() bool {
	if !b.cancelled {
		return false
	}
	for _, p := range b.pieces {
		for _, s := range p.steps {
			if s.flying > 0 {
				return false
			}
		}
	}
	return true
}
