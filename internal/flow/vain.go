package flow

import "time"

const (
	// What is usual goes over so many windows, and at least over so many tasks.
	shareOver, shareTasks = 40, 1000

	// A row of cuts is in vain once it has so many cuts, and so many tasks were sent,
	// and refused, at rates that had been let through.
	vainCuts, vainTasks, vainHits = 2, 30, 2
	// vainMost is the share from which on refusals are not thought to be of no account.
	vainMost = 0.12
	// mostBack is how far up the rate goes at once where a limit is known.
	mostBack = 1.4

	// Refusals so soon, and within so many tasks, after the rate went back up may
	// show that this was wrong.
	soonAfter, soonTasks = int64(5 * time.Second), 200
	// vainMore is how many times as many have to be refused where a limit is known.
	vainMore = 3
)

// weigh follows the usual share of refusals, and forgets what is borne as it ends.
// A window that was refused heavily is not usual.
func (st RateState) weigh(x sample) RateState {
	if x.weight().heavy(st.Borne) {
		return st
	}
	n := float64(x.tasks)
	st.Ends = min(st.Ends+n, max(shareTasks, shareOver*n))
	w := n / st.Ends
	st.Share += w * (x.refused() - st.Share)
	if st.Share < st.Borne {
		st.Borne -= w / 2 * (st.Borne - st.Share)
	}
	if st.Borne < few/10 {
		st.Borne = 0
	}
	return st
}

// borne is the share of refusals that has shown itself to have nothing to do with
// the rate, with room for chance; 0 if nothing has.
func (st RateState) borne() float64 {
	if st.Borne == 0 {
		return 0
	}
	return few + 1.5*st.Borne
}

// tally counts what was sent, and refused, since a row of cuts began, and how much of it
// at rates that had been let through before: if the rate is the cause, that is next
// to nothing. After the row was taken back it counts what became of that.
func (st RateState) tally(now int64, x sample, known float64) RateState {
	held := st.Rate <= known && x.no*windowNanos >= st.Since+settle
	switch {
	case st.Gap > 0 && now-st.Bore > soonAfter && st.RowTasks > soonTasks: // it stands
		return st.begin()
	case st.Gap > 0:
		held = false
	case !st.Limited || st.Cuts == 0:
		return st
	}
	w := x.weight()
	if (x.no+1)*windowNanos > st.Bore {
		st.RowTasks, st.RowHits = st.RowTasks+w.tasks, st.RowHits+w.hits
	}
	if held {
		st.HeldTasks, st.HeldHits = st.HeldTasks+w.tasks, st.HeldHits+w.hits
	}
	return st
}

// begin forgets the row of cuts.
func (st RateState) begin() RateState {
	st.Cuts, st.From, st.Gap = 0, 0, 0
	st.RowTasks, st.RowHits, st.HeldTasks, st.HeldHits = 0, 0, 0, 0
	return st
}

// suspect begins or continues a row of cuts, which may turn out to be in vain. A
// heavy share speaks for itself. If cuts were just taken back and by now more is
// refused, as it is when the rate is the cause, then that was wrong.
func (st RateState) suspect(now int64, was float64) RateState {
	heavy := st.run().heavy(st.Borne)
	if st.Gap > 0 {
		share := st.Borne + 0.3*st.Gap
		if heavy || st.run().beyond(share) || (weight{st.RowTasks, st.RowHits}).beyond(share) {
			st.Borne, st.Proof = 0, st.Doubt
		}
		st = st.begin()
	}
	st.Evidence = 0
	if heavy {
		st.Proof = now
		return st.begin()
	}
	st.Cuts++
	st.From = max(st.From, was)
	return st
}

// vain tells that a row of cuts has changed nothing: at rates that had been let
// through not clearly less was refused than at all.
func (st RateState) vain(now int64) bool {
	least, part := float64(vainHits), 0.5
	if st.known(now) {
		least, part = vainMore*vainHits, 0.7
	}
	return st.Cuts >= vainCuts && st.HeldTasks >= vainTasks && st.HeldHits >= least &&
		st.HeldHits*st.RowTasks >= part*st.RowHits*st.HeldTasks && st.HeldHits < vainMost*st.HeldTasks && !st.run().heavy(st.Borne)
}

// restored ends a row of cuts that were in vain: the refusals have another cause, such
// as a limit on single items. They are borne from then on, and the rate is again what
// it was before the first of these cuts; should they be about the rate after
// all, they become more at once, and the rate is cut.
func (st RateState) restored(now int64, c RateConfig) RateState {
	st.Borne = st.HeldHits / st.HeldTasks
	st.Share, st.Bore = st.Borne, now
	was := st.Rate
	st.Rate = min(st.From, st.ceiling(c))
	if st.known(now) {
		st.Rate = min(st.Rate, mostBack*was)
	}
	st = st.begin()
	st.Gap, st.Evidence, st.Run = max(1-was/st.Rate, shallow), 0, 0
	st.Doubt, st.Proof = st.Proof, 0
	if st.Rate >= 0.98*st.ceiling(c) {
		return st.free("not limited: what is refused is refused at any rate.")
	}
	st.Found, st.Since, st.Hold, st.Begin, st.Grown, st.Ahead = st.Rate, now, firstHold, 0.995, 0, 0
	return st.told(Growing, "%s items/s again: %.1f %% are refused at any rate, which is then not about the rate.",
		figure(st.Rate), 100*st.Borne)
}
