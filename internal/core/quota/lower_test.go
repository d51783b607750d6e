package quota_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

// mistake is an error that a fleet makes in a control run: the simulation must find it.
type mistake string

const (
	none          mistake = "none"
	noWait        mistake = "a change is answered before the nodes have said that they keep to it"
	neverLapses   mistake = "a node that has not read the limits for long goes on"
	keepsQuota    mistake = "a node that reads a lower limit keeps the quota that it holds"
	lateAnswers   mistake = "a node uses an answer about a limit that has been changed since"
	booksKeepOut  mistake = "the books let a node keep what it has out of a limit that was lowered"
	confirmsFirst mistake = "a node joins the list after it has read the limits"
)

// TestALoweredLimitHoldsFromTheAnswerOn changes a limit again and again, while
// nodes die, freeze, are cut off and join, messages take their time, and the
// leader's targets are those of some former limit, or never come. In no window
// that begins after the answer to a change is more used than the new limit.
func TestALoweredLimitHoldsFromTheAnswerOn(t *testing.T) {
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		if err := lowered(seed, none); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, m := range []mistake{noWait, neverLapses, keepsQuota, lateAnswers, booksKeepOut, confirmsFirst} {
		t.Run(string(m), func(t *testing.T) {
			for seed := range uint64(3000) {
				if lowered(seed, m) != nil {
					return
				}
			}
			t.Error("not found")
		})
	}
}

const (
	lowWindow = 100 * time.Millisecond
	lowTTL    = 120 * time.Millisecond
	// lowLife is how long limits that were read hold, and how long a change is answered after at the latest.
	lowLife = 120 * time.Millisecond
	// lowListed is how long an announced node is on the list.
	lowListed = 1000 * time.Millisecond
)

// lowWorld is a store with the record of a limit, the list of nodes and the books, and what uses them.
type lowWorld struct {
	*rand.Rand
	mistake mistake
	now     int64
	mail    []letter

	version int
	units   int64 // in the record
	table   *quota.Table
	epoch   uint64
	list    map[string]listed

	nodes   []*lowNode
	born    int
	uses    []use
	changes []*lowChange
}

type listed struct {
	version int
	until   int64
}

// lowChange is one change of the limit: it was written, and later answered.
type lowChange struct {
	version           int
	units             int64
	written, answered int64
}

type lowNode struct {
	name    string
	version int
	units   int64
	current int64 // until when the limits that it has read hold
	quota   int64
	until   int64
	mine    []use
	asking  bool
	reading bool
	frozen  int64 // until then it does nothing, and what it is told waits
	dead    bool
}

// lowered runs one world and returns what went wrong.
func lowered(seed uint64, m mistake) error {
	w := &lowWorld{
		Rand: rand.New(rand.NewPCG(seed, 1)), mistake: m, now: 1_700_000_000_000_000_000,
		version: 1, units: 90, list: map[string]listed{},
	}
	w.table = quota.New(store.Limit{Resource: "r", Units: w.units, Window: lowWindow})
	for range 3 {
		w.birth()
	}
	for range 600 {
		w.step()
	}
	return w.check()
}

func (w *lowWorld) birth() {
	w.born++
	w.nodes = append(w.nodes, &lowNode{name: fmt.Sprint("n", w.born)})
}

func (w *lowWorld) step() {
	w.pass(int64(w.IntN(5_000)) * 1000)
	n := w.nodes[w.IntN(len(w.nodes))]
	switch k := w.IntN(100); {
	case k < 25:
		w.read(n)
	case k < 50:
		w.hold(n)
	case k < 80:
		w.use(n)
	case k < 90:
		w.draw(n)
	case k < 94:
		w.targets()
	case k < 96:
		w.change()
	case k < 98:
		n.frozen = w.now + int64(w.IntN(400))*int64(time.Millisecond)
	default:
		n.dead = true
		w.nodes = slices.DeleteFunc(w.nodes, func(o *lowNode) bool { return o == n })
		w.birth()
	}
}

func (w *lowWorld) awake(n *lowNode) bool { return !n.dead && w.now >= n.frozen }

// at does something in a node, when it is awake.
func (w *lowWorld) at(n *lowNode, when int64, do func()) {
	w.send(max(when, n.frozen), func() {
		switch {
		case n.dead:
		case w.now < n.frozen:
			w.at(n, n.frozen, do)
		default:
			do()
		}
	})
}

// read announces a node, has it read the limits, and announces it again if they have changed.
func (w *lowWorld) read(n *lowNode) {
	if !w.awake(n) || n.reading {
		return
	}
	n.reading = true
	before := w.now
	if w.mistake != confirmsFirst {
		w.list[n.name] = listed{n.version, w.now + int64(lowListed)}
	}
	w.send(w.now+w.delay(), func() {
		version, units := w.version, w.units
		w.at(n, w.now+w.delay(), func() {
			n.reading = false
			if w.IntN(10) == 0 {
				return // cut off: it was never heard
			}
			if version != n.version && w.mistake != keepsQuota {
				n.quota, n.until = 0, 0
			}
			n.version, n.units, n.current = version, units, before+int64(lowLife)
			w.send(w.now+w.delay(), func() { w.list[n.name] = listed{version, w.now + int64(lowListed)} })
		})
	})
}

func (w *lowWorld) hold(n *lowNode) {
	if !w.awake(n) || n.asking || n.version == 0 {
		return
	}
	if w.now >= n.until {
		n.quota = 0
	}
	n.asking = true
	sent, version, units := w.now, n.version, n.units
	h := store.Holding{Node: n.name, Held: n.quota, Used: within(n.mine, w.now, lowWindow)}
	w.send(w.now+w.delay(), func() {
		w.table.SetUnits(units)
		quota := w.table.Hold(w.now, h, lowTTL)
		if w.mistake == booksKeepOut {
			quota = max(quota, min(max(h.Held, h.Used), units))
		}
		w.at(n, w.now+w.delay(), func() {
			n.asking = false
			if w.IntN(10) > 0 && (version == n.version || w.mistake == lateAnswers) {
				n.quota, n.until = quota, sent+int64(lowTTL)
			}
		})
	})
}

// may reports whether a node may start something.
func (w *lowWorld) may(n *lowNode) bool {
	return w.awake(n) && n.version > 0 && (w.now < n.current || w.mistake == neverLapses)
}

func (w *lowWorld) use(n *lowNode) {
	free := n.quota - within(n.mine, w.now, lowWindow)
	if !w.may(n) || w.now >= n.until || free <= 0 {
		return
	}
	u := use{w.now, free}
	n.mine = append(n.mine, u)
	w.uses = append(w.uses, u)
}

func (w *lowWorld) draw(n *lowNode) {
	if !w.may(n) {
		return
	}
	asked, version, units := w.now, n.version, 1+w.Int64N(max(n.units/4, 1))
	known := n.units
	w.send(w.now+w.delay(), func() {
		w.table.SetUnits(known)
		after, ok := w.table.Draw(w.now, units)
		from, to := w.now+w.delay()+int64(after), asked+int64(after+store.DrawFor)
		if ok && from <= to {
			w.at(n, from, func() {
				if w.now <= to && w.may(n) && (version == n.version || w.mistake == lateAnswers) {
					w.uses = append(w.uses, use{w.now, units})
				}
			})
		}
	})
}

// targets are those of a leader that knows of some limit, of the last changes or of long ago.
func (w *lowWorld) targets() {
	w.epoch++
	units := w.units
	if len(w.changes) > 0 {
		units = w.changes[w.IntN(len(w.changes))].units
	}
	targets := map[string]int64{}
	for _, n := range w.nodes {
		targets[n.name] = units / 3
	}
	if err := w.table.SetTargets(w.epoch, targets); err != nil {
		panic(err)
	}
}

// change writes another limit, and answers when every node on the list keeps to
// it, or none that does not can go on.
func (w *lowWorld) change() {
	if n := len(w.changes); n > 0 && w.changes[n-1].answered == 0 {
		return
	}
	w.version++
	w.units = 3 + w.Int64N(120)
	c := &lowChange{version: w.version, units: w.units, written: w.now}
	w.changes = append(w.changes, c)
	if w.mistake == noWait {
		c.answered = w.now
		return
	}
	w.await(c)
}

func (w *lowWorld) await(c *lowChange) {
	waiting := false
	for _, l := range w.list {
		waiting = waiting || l.until > w.now && l.version < c.version
	}
	if waiting && w.now < c.written+int64(lowLife) {
		w.send(w.now+int64(time.Millisecond), func() { w.await(c) })
		return
	}
	c.answered = w.now
}

func (w *lowWorld) delay() int64 { return int64(w.IntN(4_000)) * 1000 }

func (w *lowWorld) send(at int64, do func()) {
	i, _ := slices.BinarySearchFunc(w.mail, at+1, func(l letter, at int64) int { return cmp.Compare(l.at, at) })
	w.mail = slices.Insert(w.mail, i, letter{at, do})
}

func (w *lowWorld) pass(span int64) {
	end := w.now + span
	for len(w.mail) > 0 && w.mail[0].at <= end {
		l := w.mail[0]
		w.mail = w.mail[1:]
		w.now = max(w.now, l.at)
		l.do()
	}
	w.now = end
}

// check looks at the windows that lie between the answer to a change and the next change.
func (w *lowWorld) check() error {
	w.pass(int64(time.Second))
	for i, c := range w.changes {
		end := w.now
		if i+1 < len(w.changes) {
			end = w.changes[i+1].written
		}
		var after []use
		for _, u := range w.uses {
			if c.answered > 0 && u.at > c.answered && u.at < end {
				after = append(after, u)
			}
		}
		for _, u := range after {
			if got := within(after, u.at, lowWindow); got > c.units {
				return fmt.Errorf("change %d to %d, answered: %d used in the window that ends %v after the answer",
					c.version, c.units, got, time.Duration(u.at-c.answered))
			}
		}
	}
	return nil
}
