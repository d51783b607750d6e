package retry

// Turns decides whether a resource serves first attempts or retries next. While both wait,
// retries get a part of the rate, see [Budget]; alone, they may use all of it. S identifies a
// step with tasks on the resource. The zero value is ready to use.
type Turns[S any] struct {
	budget Budget
	fresh  int // steps whose first attempts wait
	held   []heldTurn[S]
}

type heldTurn[S any] struct {
	step S
	turn *Turn
}

// Turn is the state of one step.
type Turn struct {
	// Granted reports that the step's next retry may start. It is cleared when that retry runs.
	Granted bool

	fresh bool // its first attempts wait
	held  bool // its retries wait for the budget
}

// Ask requests a turn for a step's next retry, of that cost, on a resource of that rate. fresh
// reports whether first attempts of the step wait as well. If the retry has to wait, Due or
// NoteFresh returns the step later.
func (t *Turns[S]) Ask(now int64, step S, turn *Turn, fresh bool, cost int, rate float64) {
	switch {
	case turn.Granted || turn.held:
	case rate == 0, !fresh && t.fresh == 0, t.budget.Take(now, cost, rate):
		turn.Granted = true
	default:
		turn.held = true
		t.held = append(t.held, heldTurn[S]{step, turn})
	}
}

// NoteFresh records whether first attempts of a step wait. When no step has any left, it
// returns the steps whose retries waited: all of them may ask again.
func (t *Turns[S]) NoteFresh(turn *Turn, fresh bool) (again []S) {
	if fresh == turn.fresh {
		return nil
	}
	turn.fresh = fresh
	if fresh {
		t.fresh++
		return nil
	}
	if t.fresh--; t.fresh > 0 {
		return nil
	}
	held := t.held
	t.held = nil
	for _, h := range held {
		h.turn.held = false
		again = append(again, h.step)
	}
	return again
}

// Next returns when the next waiting retry gets its turn, and whether there is one.
func (t *Turns[S]) Next() (at int64, any bool) { return t.budget.Next(), len(t.held) > 0 }

// Due returns the next step that may ask again by now.
func (t *Turns[S]) Due(now int64) (step S, ok bool) {
	if len(t.held) == 0 || t.budget.Next() > now {
		return step, false
	}
	h := t.held[0]
	t.held = t.held[1:]
	h.turn.held = false
	return h.step, true
}
