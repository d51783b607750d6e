package fleet

import (
	"context"
	"time"

	"github.com/weirhq/weir"
)

// Level is what all nodes together had at one moment, of one resource or of all. A limit of 0 means
// no limit.
type Level struct {
	// Rate is the limit in force, in items per second: the one set, or the lower one that flow control
	// found.
	Rate float64
	// InFlight is tasks, and Concurrency how many of them may be in flight at once.
	InFlight, Concurrency int
	// Workers is how many the leader has given, as in [api.Scale], and Needed how many the load would keep busy.
	Workers int
	Needed  float64
	Ready   int64 // items
	Oldest  time.Duration
}

// Levels returns the levels of all resources that a node uses, by name, and of all together. It
// reads what nodes and the leader announced.
func (s *Fleet) Levels(ctx context.Context) (all Level, resources map[string]*Level, err error) {
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return all, nil, err
	}
	plan, err := s.engine.Operator().Plan(ctx)
	if err != nil {
		return all, nil, err
	}
	all, resources = levelsOf(nodes, &plan)
	return all, resources, nil
}

func levelsOf(nodes []weir.Node, plan *weir.Plan) (all Level, resources map[string]*Level) {
	resources = map[string]*Level{}
	at := func(name string) *Level {
		if resources[name] == nil {
			resources[name] = &Level{}
		}
		return resources[name]
	}
	uses := map[string][]*weir.ResourceUse{}
	for i := range nodes {
		n := &nodes[i]
		all.Concurrency += n.Slots
		for j := range n.Resources {
			u := &n.Resources[j]
			uses[u.Name] = append(uses[u.Name], u)
		}
		for j := range n.Lanes {
			all.seen(&n.Lanes[j])
			at(n.Lanes[j].ID.Resource).seen(&n.Lanes[j])
		}
	}
	for name, of := range uses {
		at(name).limit(of)
	}
	for i := range plan.Lanes {
		l := &plan.Lanes[i]
		at(l.Lane.Resource).Needed += l.Need
		at(l.Lane.Resource).Workers += max(l.Workers, 0) // less than 0: only the slots bound it
		all.Needed += l.Need
	}
	all.Workers = plan.Workers
	return all, resources
}

// seen adds a lane.
func (l *Level) seen(x *weir.Lane) {
	l.InFlight += x.InFlight
	l.Ready += x.Ready
	l.Oldest = max(l.Oldest, x.Oldest)
}

// limit sets the limits in force. The limits that are set hold for all nodes together; flow control
// finds those of each node.
func (l *Level) limit(uses []*weir.ResourceUse) {
	var held, bearable bool
	var allowed float64
	var most int
	for _, u := range uses {
		l.Rate, l.Concurrency = max(l.Rate, u.Rate), max(l.Concurrency, u.Concurrency)
		held, allowed = held || u.Limited, allowed+u.Allowed
		bearable, most = bearable || u.Bearable > 0, most+u.Bearable
	}
	if held && (l.Rate == 0 || allowed < l.Rate) {
		l.Rate = allowed
	}
	if bearable && (l.Concurrency == 0 || most < l.Concurrency) {
		l.Concurrency = most
	}
}
