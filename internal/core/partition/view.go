package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// Began returns when the bulk action started; zero if it ended before.
func (s *Status) Began() time.Time {
	if s.Started == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.Started)
}

// view returns the bulk action as the commit being cut will publish it.
func (m *Machine) view(b *bulk) weir.Progress {
	s := &b.status
	p := weir.Progress{
		ID: b.spec.ID, State: b.state, Canary: s.Phase == canaryPhase, Reason: s.Reason, Counts: s.Counts(b.spec.Items),
		Steps: slices.Clone(s.Steps), Started: s.Began(), WaitingOn: m.words(b),
		LastError: b.lastCause().LastError(b.spec.Steps), AtRisk: b.atRisk(),
	}
	if b.atHome() {
		p.WaitingOn = b.shard.home.words(p.WaitingOn)
	}
	if b.state.Final() {
		p.Finished = time.Unix(0, s.Finished)
		return p
	}
	p.Due = s.DueLast()
	if b.state != weir.BulkCancelling {
		c := &p.Counts
		c.InFlight, c.Waiting = b.standing()
		c.Ready -= c.InFlight + c.Waiting
	}
	return p
}

// showEvery bounds how long the published items in flight may be out of date. Where tasks end,
// commits publish them sooner.
const showEvery = int64(time.Second)

// showSoon schedules a publication of the items in flight, since no task may end for long.
func (m *Machine) showSoon(now int64, b *bulk) {
	if b.showAt == 0 {
		b.showAt = now + showEvery
		m.waits.push(wait{due: b.showAt, bulk: b.spec.ID})
	}
}

// showInFlight lets the next commit publish the items in flight if they have changed.
func (m *Machine) showInFlight(now int64, b *bulk) {
	if b.showAt == 0 || now < b.showAt {
		return
	}
	b.showAt = 0
	if b.inFlight == 0 || b.state != weir.BulkRunning {
		return
	}
	if flying, _ := b.standing(); flying != b.status.Flying {
		m.touch(b)
	}
	m.showSoon(now, b)
}

// standing returns the number of items in flight, and of those with a due time, over all
// shards.
func (b *bulk) standing() (inFlight, waiting int64) {
	inFlight, waiting = b.inFlight, b.waiting
	if b.atHome() {
		for i := range b.shard.home.tallies {
			inFlight += b.shard.home.tallies[i].InFlight
			waiting += b.shard.home.tallies[i].Waiting
		}
	}
	return inFlight, waiting
}

// Standing returns Counts with the items in flight and waiting as of the last commit.
func (s *Status) Standing(items int64) weir.Counts {
	c := s.Counts(items)
	if !s.State.Final() && s.State != weir.BulkCancelling {
		c.InFlight, c.Waiting = s.Flying, s.Waiting
		c.Ready -= c.InFlight + c.Waiting
	}
	return c
}

// Counts returns the durable part of a bulk action's counts. Items that have not ended count as
// ready; during a cancel only items in flight have not ended.
func (s *Status) Counts(items int64) weir.Counts {
	c := weir.Counts{Total: items, Done: s.Done, Failed: s.Failed, Cancelled: s.LeftOut}
	if s.State.Final() || s.State == weir.BulkCancelling {
		c.InFlight = s.InFlight
		c.Cancelled = items - s.Done - s.Failed - s.InFlight
	}
	c.Ready = items - c.Ended() - c.InFlight
	return c
}

// DueLast returns when the last waiting item is due; zero: none waits, or all are being
// cancelled.
func (s *Status) DueLast() (t time.Time) {
	if s.Due != 0 && s.State != weir.BulkCancelling && !s.State.Final() {
		t = time.Unix(0, s.Due)
	}
	return t
}

// account adds the time since the last call to what the bulk action waited on then.
func (m *Machine) account(now int64, b *bulk) {
	if now <= b.sampled {
		return
	}
	if b.waits != "" {
		if b.status.Waited == nil {
			b.status.Waited = map[string]int64{}
		}
		b.status.Waited[b.waits] += now - b.sampled
	}
	b.sampled, b.waits = now, ""
	if c := m.causes(b); len(c) > 0 {
		b.waits = c[0]
	}
}

// causes returns why a bulk action moves no faster, worst first.
func (m *Machine) causes(b *bulk) (words []string) {
	switch {
	case b.state != weir.BulkRunning && b.state != weir.BulkCancelling:
		switch {
		case b.state == weir.BulkAwaiting:
			words = append(words, "approval")
		case !b.state.Final():
			words = append(words, b.state.String())
		}
		return words
	case b.problem != "":
		return []string{b.problem}
	}
	for i := len(b.steps) - 1; i >= 0; i-- {
		s := b.steps[i]
		if w := s.calls.word(); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
		if s.pace.Waits && s.offered > 0 && !slices.Contains(words, "rate") {
			words = append(words, "rate")
		}
		if s.head() == 0 {
			continue
		}
		if w := m.queue.Cause(s.entry).WaitingOn(); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if b.waiting > 0 && b.inFlight == 0 && len(words) == 0 {
		words = append(words, "retry")
	}
	return words
}
