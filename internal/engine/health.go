package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// health knows the partitions that this node has stopped because going on could
// lose work or repeat it without end.
type health struct {
	mu      sync.Mutex
	stopped map[int]stopped
}

type stopped struct {
	err   error
	again time.Time // when it may be tried again
}

// stopFor is how long a partition that cannot be run is left alone.
const stopFor = 30 * time.Second

func (h *health) stop(partition int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped == nil {
		h.stopped = map[int]stopped{}
	}
	h.stopped[partition] = stopped{err, time.Now().Add(stopFor)}
}

// runs tells that a partition runs.
func (h *health) runs(partition int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.stopped, partition)
}

// mayTry reports whether a partition is worth taking.
func (h *health) mayTry(partition int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.stopped[partition]
	return !ok || time.Now().After(s.again)
}

// reasons tells of each stopped partition why it is.
func (h *health) reasons() map[int]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var why map[int]string
	for p, s := range h.stopped {
		if why == nil {
			why = map[int]string{}
		}
		why[p] = s.err.Error()
	}
	return why
}

// Health is nil while all partitions run, here and on the other nodes. A partition
// whose data is damaged or lost is not run, and named here with what to do; the
// others go on. It never waits.
func (e *Engine) Health() error {
	var errs []error
	for _, l := range e.losses.all() {
		if l.open() {
			errs = append(errs, fmt.Errorf("partition %d is stopped: %w", l.Partition, l.error()))
		}
	}
	return errors.Join(append(errs, e.stoppedHere(), e.stoppedElsewhere(), e.past.recent.losses())...)
}

func (e *Engine) stoppedHere() error {
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(e.health.stopped)) {
		errs = append(errs, fmt.Errorf("partition %d is stopped: %w", p, e.health.stopped[p].err))
	}
	return errors.Join(errs...)
}

// stoppedElsewhere tells what the other nodes say of themselves.
func (e *Engine) stoppedElsewhere() error {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(e.fleet.nodes)) {
		if name == e.node {
			continue
		}
		why := e.fleet.nodes[name].Stopped
		for _, p := range slices.Sorted(maps.Keys(why)) {
			if e.parts[p].Load() != nil || e.fleet.runs(p) {
				continue // another node can
			}
			errs = append(errs, fmt.Errorf("partition %d is stopped on %s: %s", p, name, why[p]))
		}
	}
	return errors.Join(errs...)
}
