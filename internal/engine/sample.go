package engine

import (
	"context"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/engine/telemetry"
)

type (
	// Tally counts what happened to items; see [Engine.Tallies].
	Tally = telemetry.Tally
	// Moved tells how far a bulk action has come; see [Engine.Moved].
	Moved = telemetry.Moved
)

// movedFor bounds the wait for a loop. What it would have told is told after the next move.
const movedFor = 2 * time.Second

// Tallies returns what this node has counted since it was opened, by resource; the empty name
// stands for all together. It may be a second old, but not older than the last call of [Engine.Moved].
func (e *Engine) Tallies() map[string]Tally { return e.counts.Tallies() }

// TallyOf returns the tally of a bulk action from its start.
func TallyOf(p *weir.Progress) Tally { return telemetry.TallyOf(p.Counts, p.Steps) }

// Over returns a channel that is closed when Run has returned: nothing is counted any more.
func (e *Engine) Over() <-chan struct{} { return e.over }

// Leads reports whether this node decides for all.
func (e *Engine) Leads() bool { return e.fleet.Leads() }

// Moved returns the bulk actions of which something was committed since the last call. A bulk action
// that several partitions share is told of by the node that owns its home, which counts all of it.
// One that began and ended since the last call is left out. One caller per engine.
func (e *Engine) Moved(ctx context.Context) (all []Moved) {
	var asked int
	answers := make(chan []Moved, stored.MaxPartitions)
	for p := range e.parts.all {
		p.mail.put(input{moved: answers})
		asked++
	}
	late := time.NewTimer(movedFor)
	defer late.Stop()
	for ; asked > 0; asked-- {
		select {
		case some := <-answers:
			all = append(all, some...)
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		break
	}
	return all
}
