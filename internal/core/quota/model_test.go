package quota_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/store"
)

// TestNoWindowHoldsMoreThanTheLimit lets honest nodes loose on a table: they
// send as much as they may, their messages take their time or are lost, they
// die, others come, and the leader's targets are nonsense.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(20, 400).Draw(t, "events") {
			w.step()
		}
		w.check()
	})
}

// world is the table, its nodes and what is under way between them.
type world struct {
	*rapid.T
	limit  store.Limit
	ttl    time.Duration
	table  *quota.Table
	now    int64
	mail   []letter // by time
	nodes  []*node
	born   int
	epoch  uint64
	usages []use
}

// node is an honest one: see package limit for the real limiter.
type node struct {
	name  string
	quota int64
	until int64 // of the quota, by when it was asked for
	mine  []use // under the quota
	asked bool  // a Hold is under way
	dead  bool
}

type use struct{ at, units int64 }

// letter is something that happens later.
type letter struct {
	at int64
	do func()
}

func newWorld(t *rapid.T) *world {
	w := &world{
		T: t,
		limit: store.Limit{
			Resource: "r",
			Units:    rapid.Int64Range(1, 100).Draw(t, "limit"),
			Window:   time.Duration(rapid.SampledFrom([]int{20, 100, 1000}).Draw(t, "window")) * time.Millisecond,
		},
		ttl: time.Duration(rapid.IntRange(5, 400).Draw(t, "ttl")) * time.Millisecond,
		now: 1_700_000_000_000_000_000,
	}
	w.table = quota.New(w.limit)
	for range rapid.IntRange(1, 4).Draw(t, "nodes") {
		w.birth()
	}
	return w
}

func (w *world) birth() {
	w.born++
	w.nodes = append(w.nodes, &node{name: fmt.Sprint("n", w.born)})
}

// step lets some time pass and then one thing happen.
func (w *world) step() {
	w.pass(int64(rapid.IntRange(0, 40_000).Draw(w.T, "µs")) * 1000)
	n := w.nodes[rapid.IntRange(0, len(w.nodes)-1).Draw(w.T, "node")]
	switch rapid.SampledFrom([]string{"hold", "hold", "use", "use", "use", "draw", "draw", "targets", "end", "die", "forget"}).Draw(w.T, "what") {
	case "hold":
		w.hold(n, w.ttl)
	case "use":
		w.use(n)
	case "draw":
		w.draw()
	case "targets":
		w.targets()
	case "end":
		w.hold(n, 0)
	case "die":
		if rapid.IntRange(0, 3).Draw(w.T, "really") == 0 {
			n.dead = true
			w.nodes = slices.DeleteFunc(w.nodes, func(other *node) bool { return other == n })
			w.birth()
		}
	case "forget":
		if rapid.IntRange(0, 5).Draw(w.T, "really") == 0 {
			w.forget()
		}
	}
}

// forget is a store that starts again with nothing, and knows.
func (w *world) forget() {
	w.table = quota.New(w.limit)
	w.table.Learn(w.now + int64(max(w.ttl, store.DrawAhead+store.DrawFor)+w.limit.Window))
}

func (w *world) delay() int64 { return int64(rapid.IntRange(0, 30_000).Draw(w.T, "delay")) * 1000 }

func (w *world) lost() bool { return rapid.IntRange(0, 9).Draw(w.T, "lost") == 0 }

// hold is a question and its answer. While it is under way the node lives by the old quota.
func (w *world) hold(n *node, ttl time.Duration) {
	if n.asked {
		return
	}
	if ttl == 0 || w.now >= n.until {
		n.quota = 0
	}
	h := store.Holding{Node: n.name, Held: n.quota, Used: n.used(w.now, w.limit.Window)}
	sent, there, back := w.now, w.now+w.delay(), w.delay()
	if w.lost() {
		return // the message is lost
	}
	n.asked = true
	answered := !w.lost()
	w.send(there, func() {
		got := w.table.Hold(w.now, h, ttl)
		w.send(there+back, func() {
			if n.asked = false; answered {
				n.quota, n.until = got, sent+int64(ttl)
			}
		})
	})
}

// use is as much as the node's own limiter lets through, or some of it.
func (w *world) use(n *node) {
	free := n.quota - n.used(w.now, w.limit.Window)
	if n.dead || w.now >= n.until || free <= 0 {
		return
	}
	u := use{w.now, rapid.OneOf(rapid.Just(free), rapid.Int64Range(1, free)).Draw(w.T, "use")}
	n.mine = append(n.mine, u)
	w.usages = append(w.usages, u)
}

func (n *node) used(now int64, window time.Duration) int64 { return within(n.mine, now, window) }

// draw is a question for a permit, which is used as late or as early as it may be.
func (w *world) draw() {
	units := rapid.Int64Range(1, max(1, w.limit.Units/4)).Draw(w.T, "units")
	asked, there := w.now, w.now+w.delay()
	back, late := w.delay(), rapid.Int64Range(0, int64(store.DrawFor)).Draw(w.T, "late")
	w.send(there, func() {
		after, ok := w.table.Draw(w.now, units)
		if after < 0 || ok && after > store.DrawAhead {
			w.Fatalf("Draw says %v", after)
		}
		from, to := there+back+int64(after), asked+int64(after+store.DrawFor)
		if !ok || from > to {
			return
		}
		w.send(min(from+late, to), func() { w.usages = append(w.usages, use{w.now, units}) })
	})
}

func (w *world) targets() {
	w.epoch++
	targets := map[string]int64{}
	for _, n := range w.nodes {
		targets[n.name] = rapid.Int64Range(0, w.limit.Units).Draw(w.T, "target")
	}
	if err := w.table.SetTargets(w.epoch, targets); err != nil {
		w.Fatalf("SetTargets(%d) = %v", w.epoch, err)
	}
}

func (w *world) send(at int64, do func()) {
	i, _ := slices.BinarySearchFunc(w.mail, at+1, func(l letter, at int64) int { return cmp.Compare(l.at, at) })
	w.mail = slices.Insert(w.mail, i, letter{at, do})
}

// pass delivers what is due, each at its time.
func (w *world) pass(span int64) {
	end := w.now + span
	for len(w.mail) > 0 && w.mail[0].at <= end {
		l := w.mail[0]
		w.mail = w.mail[1:]
		w.now = l.at
		l.do()
	}
	w.now = end
}

// check looks at the windows that end with a use: no other holds more.
func (w *world) check() {
	w.pass(int64(time.Hour))
	for _, u := range w.usages {
		if got := within(w.usages, u.at, w.limit.Window); got > w.limit.Units {
			w.Fatalf("used in the window that ends at %d = %d, want at most %d", u.at, got, w.limit.Units)
		}
	}
}

// within sums what was used after now-window, up to and including now.
func within(all []use, now int64, window time.Duration) (sum int64) {
	for _, u := range all {
		if u.at > now-int64(window) && u.at <= now {
			sum += u.units
		}
	}
	return sum
}
