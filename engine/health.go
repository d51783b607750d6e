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

// Health is nil while this node runs everything that is its to run. A partition
// whose data is damaged or lost is not run, and named here with what to do; the
// others go on. It never waits.
func (e *Engine) Health() error {
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(e.health.stopped)) {
		errs = append(errs, fmt.Errorf("partition %d is stopped: %w", p, e.health.stopped[p].err))
	}
	return errors.Join(append(errs, e.past.recent.losses())...)
}
