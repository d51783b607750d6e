package recorder

import (
	"errors"
	"fmt"
	"iter"
)

// Run describes a run and the faults injected into it.
type Run struct {
	Seed        uint64           // of the server
	Items       iter.Seq[string] // ids that were submitted, each once
	Steps       []string         // in order
	MaxAttempts int              // of an item at a step
	Deaths      int              // how often the caller was killed
	AtRisk      int              // repeats that a death may cause: items in flight, and one commit window
	Bulk        string           // id that the caller was given
	Fleet       *Fleet           // several callers ran side by side; nil: one after the other
}

// Fleet describes the lives of callers that ran side by side, so that only times give their
// order.
type Fleet struct {
	// Disturbed lists the lives that were killed, paused or cut off: only they may leave
	// repeats behind.
	Disturbed map[int]bool
	// Zombies lists the lives that may have made a call after they lost their work, without
	// knowing.
	Zombies map[int]bool
	// Undone is the number of attempts at one item that a disturbance may undo: 1, or more if a
	// store was unreachable for long.
	Undone int
}

// Stats holds the measurements of a run.
type Stats struct {
	Lives   int // starts of the caller that made at least one call
	Calls   int // items sent, over all calls
	Refused int // of them, in refused calls
	Repeats int // last words that were given before: what kills cost
	Worst   int // most repeats that one death caused
	Late    int // items that a zombie called when others had gone on with them
	Done    int
	Failed  int
}

// String returns one line.
func (s Stats) String() string {
	return fmt.Sprintf("%d done, %d failed; %d item calls, %d of them refused, in %d lives; %d repeats, at most %d by one death",
		s.Done, s.Failed, s.Calls, s.Refused, s.Lives, s.Repeats, s.Worst)
}

// Add returns the measurements of two runs together.
func (s Stats) Add(o Stats) Stats {
	s.Lives, s.Worst = max(s.Lives, o.Lives), max(s.Worst, o.Worst)
	s.Calls += o.Calls
	s.Refused += o.Refused
	s.Repeats += o.Repeats
	s.Late += o.Late
	s.Done += o.Done
	s.Failed += o.Failed
	return s
}

// history is the log of one item at one step.
type history struct {
	key                 string
	answered            int // calls that were not refused
	answeredLife        int // the life that was told the last answer
	done, failed        bool
	code, message       string // of the last answer
	firstLife, lastLife int
	firstAt, lastAt     int64
	lastBy              int // the life that made the call at lastAt
}

type place struct{ step, item string }

// judge collects faults. Of many, only the first are kept.
type judge struct {
	run    Run
	stats  Stats
	items  map[string]bool // submitted; true: has a row
	at     map[place]*history
	keys   map[string]place
	lost   map[int]int // last words that were told to a life and asked for again
	faults []error
}

const maxFaults = 20

func (j *judge) fault(format string, args ...any) {
	if len(j.faults) < maxFaults {
		j.faults = append(j.faults, fmt.Errorf(format, args...))
	}
}

// Verify compares a log and a report with each other and with the promises:
//
//   - every item ended exactly once, and no other item did;
//   - a done item has a success at every step, a failed one the error that it was given;
//   - a step is called only after the step before has succeeded, which is never called again after that;
//   - an item has one key per step, and no two share one;
//   - no more attempts than allowed, and no more repeats than the deaths account for, and none without one;
//   - the counts of the report are those of the log.
func Verify(log []Entry, rep *Report, run Run) (Stats, error) {
	j := &judge{run: run, items: map[string]bool{}, at: map[place]*history{}, keys: map[string]place{}, lost: map[int]int{}}
	for id := range run.Items {
		j.items[id] = false
	}
	for i := range log {
		j.entry(i+1, &log[i])
	}
	j.order()
	j.deaths()
	for i := range rep.Rows {
		j.row(&rep.Rows[i])
	}
	for id, ended := range j.items {
		if !ended {
			j.fault("item %s is in no file of the report: lost", id)
		}
	}
	j.summary(&rep.Summary)
	return j.stats, errors.Join(j.faults...)
}

// entry takes one line of the log.
func (j *judge) entry(line int, e *Entry) {
	j.stats.Calls++
	if _, ours := j.items[e.Item]; !ours || e.Bulk != j.run.Bulk {
		j.fault("line %d: item %q of %s was called and never submitted", line, e.Item, e.Bulk)
		return
	}
	h := j.history(line, e)
	h.lastLife = max(h.lastLife, e.Life)
	if e.Received > h.lastAt {
		h.lastAt, h.lastBy = e.Received, e.Life
	}
	switch {
	case e.Answer == Refused:
		j.stats.Refused++
		return
	case e.Answer == Wrong:
		j.fault("line %d: item %s at %s: %s", line, e.Item, e.Step, e.Message)
	case h.done || h.failed: // a retry that was lost shows in the number of attempts alone
		j.repeat(line, e, h)
	}
	h.answered++
	h.answeredLife = e.Life
	h.done = h.done || e.Answer == Done
	h.failed = h.failed || e.Answer == Failed
	h.code, h.message = e.Code, e.Message
	if most := j.mostAttempts(); h.answered > most {
		j.fault("line %d: item %s at %s was tried %d times, at most %d are allowed", line, e.Item, e.Step, h.answered, most)
	}
}

// mostAttempts returns how often an item may be tried at a step, disturbances included.
func (j *judge) mostAttempts() int {
	undone := 1
	if f := j.run.Fleet; f != nil {
		undone = max(1, f.Undone)
	}
	return j.run.MaxAttempts + undone*j.run.Deaths
}

// history finds or begins the history of the entry's item at its step, and checks what holds for every call.
func (j *judge) history(line int, e *Entry) *history {
	p := place{e.Step, e.Item}
	h := j.at[p]
	if h == nil {
		h = &history{key: e.Key, firstLife: e.Life, firstAt: e.Received}
		j.at[p] = h
		if other, taken := j.keys[e.Key]; taken {
			j.fault("line %d: key %s of item %s at %s is also that of %s at %s", line, e.Key, e.Item, e.Step, other.item, other.step)
		}
		j.keys[e.Key] = p
	}
	if h.key != e.Key {
		j.fault("line %d: item %s at %s has key %s, before it was %s", line, e.Item, e.Step, e.Key, h.key)
	}
	if before := j.before(p); before != nil && !before.done {
		j.fault("line %d: item %s was called at %s before it had succeeded at the step before", line, e.Item, e.Step)
	} else if before == nil && e.Step != j.run.Steps[0] {
		j.fault("line %d: item %s was called at %s and never at the step before", line, e.Item, e.Step)
	}
	return h
}

// before returns the history of the item at the step before, nil if there is none.
func (j *judge) before(p place) *history {
	for i, s := range j.run.Steps {
		if s == p.step && i > 0 {
			return j.at[place{j.run.Steps[i-1], p.item}]
		}
	}
	return nil
}

// order checks that a success was durable before the next step began: a caller
// that had to call the earlier step again had forgotten it.
func (j *judge) order() {
	for p, h := range j.at {
		b := j.before(p)
		if b == nil || !j.later(b, h) {
			continue
		}
		if f := j.run.Fleet; f != nil && f.Zombies[b.lastBy] {
			j.stats.Late++
		} else {
			j.fault("item %s was called again at the step before %s, which it had reached in life %d", p.item, p.step, h.firstLife)
		}
	}
}

// later reports whether the last call of b was made after the first of h.
func (j *judge) later(b, h *history) bool {
	if j.run.Fleet != nil {
		return b.lastAt > h.firstAt
	}
	return b.lastLife > h.firstLife || b.lastLife == h.firstLife && b.lastAt > h.firstAt
}

// repeat records a call whose final answer had been given before. The life that got it must
// have died since, or the one that asks is a zombie: the repeat is charged to that life.
func (j *judge) repeat(line int, e *Entry, h *history) {
	j.stats.Repeats++
	f, guilty := j.run.Fleet, h.answeredLife
	switch {
	case f == nil && e.Life == guilty:
		j.fault("line %d: item %s at %s was called again in life %d, which had its answer", line, e.Item, e.Step, e.Life)
	case f == nil || f.Disturbed[guilty]:
	case f.Zombies[e.Life]:
		guilty = e.Life
		j.stats.Late++
	default:
		j.fault("line %d: item %s at %s was called again in life %d; life %d had its answer and was not disturbed", line,
			e.Item, e.Step, e.Life, guilty)
	}
	j.lost[guilty]++
}

// deaths compares the repeats with what the crashes may cost. The bound is for the whole run: a
// single commit that the disk delays may cost more than the average one, which Stats shows.
func (j *judge) deaths() {
	for _, h := range j.at {
		j.stats.Lives = max(j.stats.Lives, h.lastLife)
	}
	for _, n := range j.lost {
		j.stats.Worst = max(j.stats.Worst, n)
	}
	if most := j.run.Deaths * j.run.AtRisk; j.stats.Repeats > most {
		j.fault("%d repeats, at most %d are accounted for by %d deaths", j.stats.Repeats, most, j.run.Deaths)
	}
	if j.run.Fleet == nil && len(j.lost) > j.run.Deaths {
		j.fault("%d lives left repeats behind, and only %d were killed", len(j.lost), j.run.Deaths)
	}
}
