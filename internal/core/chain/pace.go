package chain

import "github.com/weirhq/weir/internal/core/limit"

// Pace is a bulk action's own rate at a step. The zero value is none.
type Pace struct {
	Own   *limit.Limiter // nil: none
	Waits bool           // only its rate holds the next task up
	Part  int            // the part of the next task that its rate lets start now; 0: all of it

	next int64 // when the step is checked again; 0: no time is set
	busy bool  // it has something to run
}

// Rate returns the step's own rate, 0 if it has none.
func (p *Pace) Rate() float64 {
	if p.Own == nil {
		return 0
	}
	return p.Own.Rate()
}

// Look checks whether the step's own rate, which it has to have, lets the next task start now,
// all of it or if not whole a part; held keeps all back. size is asked for the items of the task
// when no part of it is set, since it may depend on that. Look returns when the step is to be
// checked again, 0 if no time has to be set.
func (p *Pace) Look(now int64, size func() int, held, whole bool) (alarm int64) {
	p.Part = 0
	n := size()
	if p.Waits = n > 0 && held; n == 0 || p.Waits {
		p.busy = p.busy && n > 0
		return 0
	}
	if !p.busy {
		p.busy = true
		p.Own.Busy(now)
	}
	at := p.Own.Ready(now, n)
	if !whole {
		if p.Part, at = p.Own.Part(now, n); p.Part == n {
			p.Part = 0
		}
	}
	if p.Waits = at > now; p.Waits && (p.next == 0 || at < p.next) {
		p.next = at
		return at
	}
	return 0
}

// Checked notes that the time that Look returned has come.
func (p *Pace) Checked(now int64) {
	if now >= p.next {
		p.next = 0
	}
}
