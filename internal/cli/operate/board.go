package operate

import (
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/core/scale"
)

// board is all lanes at one moment, as people and programs get to see them.
type board struct {
	At         time.Time    `json:"at"`
	Partitions int          `json:"partitions"`
	Nodes      []weir.Node  `json:"nodes"` // without their lanes, of which each is told once
	Scaling    weir.Scaling `json:"scaling"`
	Lanes      []laneState  `json:"lanes"`
}

// laneState is one lane. What is nil is not known.
type laneState struct {
	weir.Lane
	// Node runs it; empty if no node does, and then only the workers are known.
	Node string    `json:"node,omitempty"`
	At   time.Time `json:"at,omitzero"`
	// PWQD is the tasks ready for each worker. In and Out are tasks a second, and
	// ErrorShare is of those that ended, all between two looks.
	PWQD       *float64 `json:"pwqd,omitempty"`
	In         *float64 `json:"tasks_in_per_second,omitempty"`
	Out        *float64 `json:"tasks_out_per_second,omitempty"`
	ErrorShare *float64 `json:"error_share,omitempty"`
	// Need and Useful are as of the last decision.
	Need     *float64       `json:"need,omitempty"`
	Useful   *float64       `json:"useful,omitempty"`
	Pin      *weir.Pin      `json:"pin,omitempty"`
	Decision *weir.Decision `json:"decision,omitempty"`
	Shadow   *weir.Decision `json:"shadow,omitempty"`
}

// live says whether a node runs the lane.
func (l *laneState) live() bool { return l.Node != "" }

// look reads all that is known. Rates are since before, which may be nil.
func (d *desk) look(ctx context.Context, before *board) (*board, error) {
	b := &board{At: time.Now().UTC(), Nodes: []weir.Node{}, Lanes: []laneState{}}
	var err error
	if b.Partitions, err = d.engine.Partitions(ctx); err != nil {
		return nil, err
	}
	if b.Scaling, err = d.engine.Settings(ctx); err != nil {
		return nil, err
	}
	decided, err := d.decided(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := d.engine.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	b.fill(nodes, decided)
	if before != nil {
		b.compare(before)
	}
	return b, nil
}

// fill takes the observations of nodes, and the decisions about lanes that no node runs.
func (b *board) fill(nodes []weir.Node, decided map[weir.LaneID]newestOf) {
	lanes := map[weir.LaneID]laneState{}
	for _, n := range nodes {
		lanesOf := n.Lanes
		n.Lanes = nil
		b.Nodes = append(b.Nodes, n)
		for _, l := range lanesOf {
			if lanes[l.ID].At.Before(n.At) { // of two that speak of it the later one owns it
				depth := l.Depth()
				lanes[l.ID] = laneState{Lane: l, Node: n.Name, At: n.At, PWQD: &depth}
			}
		}
	}
	for id, last := range decided {
		l, ok := lanes[id]
		switch {
		case !ok && last.acting == nil:
			continue // a shadow alone does nothing to a lane
		case !ok:
			l = laneState{Lane: weir.Lane{ID: id, Workers: last.acting.To}}
		}
		l.Decision, l.Shadow = last.acting, last.shadow
		l.Need, l.Useful = last.wishes()
		lanes[id] = l
	}
	for id, pin := range b.Scaling.Pins {
		l, ok := lanes[id]
		if !ok {
			l.Lane = weir.Lane{ID: id, Workers: -1}
		}
		l.Pin = &pin
		lanes[id] = l
	}
	for _, l := range lanes {
		b.Lanes = append(b.Lanes, l)
	}
	slices.SortFunc(b.Lanes, func(x, y laneState) int { return compareLanes(x.ID, y.ID) })
}

// wishes returns the need that the leader computed. Only the default policy computes one.
func (x newestOf) wishes() (need, useful *float64) {
	if x.acting != nil && x.acting.Policy != scale.Default {
		return nil, nil
	}
	if x.useful > 0 {
		useful = &x.useful
	}
	return &x.need, useful
}

// compare works out rates from what the counts grew by. A lane that was not looked
// at again keeps the rates that it had.
func (b *board) compare(before *board) {
	for i := range b.Lanes {
		now := &b.Lanes[i]
		j := slices.IndexFunc(before.Lanes, func(l laneState) bool { return l.ID == now.ID && l.Node == now.Node })
		if j < 0 || !now.live() {
			continue
		}
		was := &before.Lanes[j]
		span := now.At.Sub(was.At).Seconds()
		switch ended := now.Ended - was.Ended; {
		case span <= 0:
			now.In, now.Out, now.ErrorShare = was.In, was.Out, was.ErrorShare
		case ended < 0 || now.Arrived < was.Arrived: // counted anew
		default:
			in, out := (now.Arrived-was.Arrived)/span, float64(ended)/span
			now.In, now.Out = &in, &out
			if ended > 0 {
				share := float64(now.Failed-was.Failed) / float64(ended)
				now.ErrorShare = &share
			}
		}
	}
}

// running says whether a node runs some lane.
func (b *board) running() bool {
	return slices.ContainsFunc(b.Lanes, func(l laneState) bool { return l.live() })
}

// Nodes look at their lanes once a second.
const (
	lookAgain  = 250 * time.Millisecond
	lookAtMost = 10 // times, before rates are given up
)

// measured is a look with rates, if anything runs: nodes are waited for until they have looked again.
func (d *desk) measured(ctx context.Context) (*board, error) {
	first, err := d.look(ctx, nil)
	if err != nil || !first.running() {
		return first, err
	}
	for range lookAtMost {
		if err := command.Sleep(ctx, lookAgain); err != nil {
			return nil, err
		}
		nodes, err := d.engine.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		if first.older(nodes) {
			break
		}
	}
	return d.look(ctx, first)
}

// older says whether every node that is left has looked again since.
func (b *board) older(nodes []weir.Node) bool {
	for _, was := range b.Nodes {
		i := slices.IndexFunc(nodes, func(n weir.Node) bool { return n.Name == was.Name })
		if i >= 0 && !nodes[i].At.After(was.At) {
			return false
		}
	}
	return true
}
