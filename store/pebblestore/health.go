package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors/oserror"

	"github.com/weirhq/weir/store"
)

// stuckAfter is how long a write may take before the store counts as unhealthy. On a full disk
// Pebble's writes do not fail, they wait.
const stuckAfter = 5 * time.Second

// pulse reports whether writes complete. The log is written in order, so if any write ended
// recently, none is stuck.
type pulse struct {
	waiting atomic.Int64
	beat    atomic.Int64 // when a write last ended, or began with none waiting: nanoseconds since 1970
}

func (p *pulse) begin() {
	if p.waiting.Add(1) == 1 {
		p.beat.Store(time.Now().UnixNano())
	}
}

func (p *pulse) end() {
	p.beat.Store(time.Now().UnixNano())
	p.waiting.Add(-1)
}

// stuck returns for how long no write has completed, 0 if none waits.
func (p *pulse) stuck() time.Duration {
	if p.waiting.Load() == 0 {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - p.beat.Load())
}

// Probe implements [store.Prober]: it fails where a message with new work would, and if files
// are missing. Pebble continues to write to removed files, and all of it would be lost with the
// process.
func (s *Store) Probe(ctx context.Context, _ int) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	return errors.Join(s.Health(), s.space.allow(s, bigMessage), s.filesThere())
}

// filesThere checks that the files of the watermark exist. They are recorded after they are
// created and dropped before they are removed, both with noteMu held.
func (s *Store) filesThere() error {
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	for name := range s.note.files {
		if _, err := s.fs.Stat(s.fs.PathJoin(s.dir, name)); oserror.IsNotExist(err) {
			return fmt.Errorf("store in %q: %s was removed while the store is open, and what is written now will be lost: "+
				"stop the server and put the directory back from a backup", s.dir, name)
		}
	}
	return nil
}

var _ store.Prober = (*Store)(nil)

// Health returns nil while the store works. It never waits.
func (s *Store) Health() error {
	if err := s.guard.err(); err != nil {
		return err
	}
	if d := s.pulse.stuck(); d > stuckAfter {
		return fmt.Errorf("store in %q: a write has been waiting for %s: is the disk full or failing?", s.dir, d.Round(time.Second))
	}
	return s.space.allow(s, 0)
}
