package own

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

// Stopped returns an error that names the partitions that do not run, here or on the other nodes, nil if there are none.
// It never waits.
func (m *Member) Stopped() error {
	var errs []error
	for _, l := range m.Losses.All() {
		if l.Open() {
			errs = append(errs, fmt.Errorf("partition %d is stopped: %w", l.Partition, l.Err()))
		}
	}
	return errors.Join(append(errs, m.health.all(), m.stoppedElsewhere())...)
}

func (h *health) all() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(h.stopped)) {
		errs = append(errs, fmt.Errorf("partition %d is stopped: %w", p, h.stopped[p].err))
	}
	return errors.Join(errs...)
}

// stoppedElsewhere tells what the other nodes say of themselves.
func (m *Member) stoppedElsewhere() error {
	f := m.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		if name == m.Node {
			continue
		}
		why := f.nodes[name].Stopped
		for _, p := range slices.Sorted(maps.Keys(why)) {
			if m.Running(p) != nil || f.runs(p) {
				continue // another node can
			}
			errs = append(errs, fmt.Errorf("partition %d is stopped on %s: %s", p, name, why[p]))
		}
	}
	return errors.Join(errs...)
}
