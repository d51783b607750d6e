package flow

import "math"

const (
	// vainCuts is how many cuts in a row have to be followed by as many refusals,
	// share for share, before these are thought to have another cause.
	vainCuts = 5
	// shareOver is the number of windows over which the usual share of refusals goes.
	shareOver = 40
	// halved is how far they have to have brought the rate down.
	halved = 0.4
)

// weigh follows the usual share of refusals, and forgets what is borne as it ends.
func (st RateState) weigh(x sample) RateState {
	st.Share += (x.refused() - st.Share) / shareOver
	switch {
	case st.Share > 2*st.Borne+few: // they have become more: it is the rate after all
		st.Borne = 0
	case st.Share < st.Borne/2:
		st.Borne *= 0.99
	}
	return st
}

// borne is the share of refusals in a window that has shown itself to have nothing
// to do with the rate, with room for chance.
func (st RateState) borne(x sample) float64 {
	if st.Borne < few/10 {
		return 0
	}
	return st.Borne + 5*math.Sqrt(st.Borne/float64(x.tasks))
}

// suspect counts cuts in a row that changed nothing: as large a share is refused
// as before the last one. A cut of a rate that was growing, or not limited, begins anew.
func (st RateState) suspect(now int64, x sample, was float64) RateState {
	if !st.Limited || now-st.Since >= st.Hold {
		st.Vain, st.From = 0, was
	}
	switch {
	case x.refused() >= 0.5*st.Cutting && x.refused() < 0.5:
		st.Vain++
	default:
		st.Vain = 0
	}
	st.Cutting = x.refused()
	return st
}

// vain ends a row of cuts that have more than halved the rate and changed nothing: the
// refusals have another cause, such as a limit on single items. They are borne
// from then on and the rate grows again; should they be about the rate after
// all, they become more, and the rate is cut.
func (st RateState) vain(now int64, c RateConfig) (RateState, bool) {
	if st.Vain < vainCuts || st.Found > halved*st.From {
		return st, false
	}
	st.Borne, st.Vain, st.From, st.Run = st.Share, 0, st.Found, 0
	st.Since, st.Hold = now-firstHold, firstHold
	st.Rate = st.floor(st.Found, c)
	return st.told(Growing, "%s items/s, growing: %.1f %% are refused at any rate, which is then not about the rate.",
		figure(st.Rate), 100*st.Borne), true
}
