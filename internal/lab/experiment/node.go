package experiment

import (
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

const (
	// commitFor is how long a commit takes.
	commitFor = 2 * ms
	// nodeSlots is how many tasks the node may run at once.
	nodeSlots = 2000
)

// node is a process in virtual time: its capacity, and the real machines of its
// partitions. Commits and tasks take time; nothing else does.
type node struct {
	*virtual.Clock
	can   *capacity.Node
	parts []*part
	codec *block.Codec
	chain []weir.Step
	good  []weir.Outcome
	shown map[weir.BulkID]weir.Progress // how far bulk actions are
	ended map[weir.BulkID]weir.Progress

	call    func(*partition.Task, func(partition.Result)) // makes a call; nil: it takes service, and gets answer
	service func(*partition.Task) int64                   // how long a task takes
	answer  func(*partition.Task, *partition.Result)      // changes what was a success
	onStart func(*partition.Task)
	filter  func(*partition.Task) []weir.Outcome // what the conditions of a step say
}

// part is one partition.
type part struct {
	m    *partition.Machine
	wake int64
	sent uint64 // messages
}

// newNode makes a node without flow control whose bulk actions all run the given chain.
func newNode(partitions int, chain ...weir.Step) *node {
	return newNodeOn(virtual.NewClock(epoch), capacity.Config{Slots: nodeSlots, NoFlow: true}, partitions, chain...)
}

// newNodeOn makes a node on a clock that it may share with others.
func newNodeOn(on *virtual.Clock, c capacity.Config, partitions int, chain ...weir.Step) *node {
	n := &node{
		Clock: on, can: capacity.New(c), codec: sure(block.NewCodec()), chain: chain,
		shown: map[weir.BulkID]weir.Progress{}, ended: map[weir.BulkID]weir.Progress{},
	}
	for _, s := range chain {
		n.good = slices.Repeat([]weir.Outcome{{Kind: weir.OutcomeDone}}, max(len(n.good), s.BatchSize))
	}
	for i := range partitions {
		m := partition.New(partition.Config{
			Capacity: n.can.Join(i), Seed: uint64(i), Codec: n.codec,
			Chain: func(string) []weir.Step { return n.chain },
		}, 0)
		n.parts = append(n.parts, &part{m: m, wake: never})
	}
	return n
}

// step returns a step on a resource of its own.
func step(name string, rate float64) weir.Step {
	return weir.Step{
		Name: name, BatchSize: 100, Resource: weir.Resource{Name: name, Rate: weir.Rate(rate)}, Retry: weir.Backoff{}.WithDefaults(),
	}
}

// submit gives a bulk action to a partition.
func (n *node) submit(part int, c partition.Created) {
	for i := range n.chain {
		c.Steps = append(c.Steps, n.chain[i].Name)
	}
	c.Chain, c.Submitted = "c", n.Now()
	n.message(part)(partition.EncodeCreated(c))
}

// command gives a command to a partition.
func (n *node) command(part int, c partition.Command) {
	n.message(part)(partition.EncodeCommand(c))
}

// message puts what was encoded into a partition's inbox, and lets it be read at once.
func (n *node) message(part int) func(body []byte, err error) {
	return func(body []byte, err error) {
		p := n.parts[part]
		p.sent++
		sure(p.m.Message(n.Now(), store.Message{Seq: p.sent, Body: sure(body, err)}))
		n.advance(part)
	}
}

// advance takes one turn of a partition's loop, and those that it causes.
func (n *node) advance(i int) {
	n.turn(i)
	n.settle()
}

// settle takes the turns of the partitions that something was picked for.
func (n *node) settle() {
	for n.can.Called() {
		for _, p := range n.can.Calls(nil) {
			n.turn(p.Data.(int))
		}
	}
}

func (n *node) turn(i int) {
	p := n.parts[i]
	do := p.m.Advance(n.Now())
	for _, t := range do.Start {
		n.start(i, t)
	}
	for _, v := range do.Views {
		n.shown[v.ID] = v
		if v.State.Final() {
			n.ended[v.ID] = v
		}
	}
	if do.Commit != nil {
		n.At(n.Now()+commitFor, func() {
			p.m.Committed(n.Now())
			n.advance(i)
		})
	}
	p.wake = do.Wake
}

func (n *node) start(i int, t *partition.Task) {
	if t.Filter { // it takes no limit, and hardly any time
		n.At(n.Now()+ms, func() {
			n.parts[i].m.Result(n.Now(), &partition.Result{Task: t, Outcomes: n.filter(t)})
			n.advance(i)
		})
		return
	}
	if n.onStart != nil {
		n.onStart(t)
	}
	sent := n.Now()
	end := func(r partition.Result) {
		r.Task, r.Service = t, n.Now()-sent
		if r.Failure == nil {
			r.Outcomes = n.good[:len(t.Items)]
		}
		if n.answer != nil {
			n.answer(t, &r)
		}
		n.parts[i].m.Result(n.Now(), &r)
		n.advance(i)
	}
	if n.call != nil {
		n.call(t, end)
		return
	}
	n.At(n.Now()+n.service(t), func() { end(partition.Result{}) })
}

// run goes on until a time, or until nothing is left to happen.
func (n *node) run(until int64) { play(n.Clock, until, n) }

// play lets nodes on one clock go on until a time, or until nothing is left to happen.
func play(on *virtual.Clock, until int64, nodes ...*node) {
	on.Play(until, func() int64 {
		next := on.Next()
		for _, n := range nodes {
			for _, p := range n.parts {
				next = min(next, p.wake)
			}
		}
		return max(next, on.Now())
	}, func() (last bool) {
		for _, n := range nodes {
			for i, p := range n.parts {
				if p.wake <= on.Now() {
					n.advance(i)
				}
			}
		}
		return false
	})
}
