package pebblestore

import (
	"errors"
	"maps"
	"sync/atomic"
	"time"
)

const (
	// padAfter is how long the log is quiet before its tail is padded.
	padAfter = 50 * time.Millisecond
	// markEvery is how often the watermark is written, and free space checked.
	markEvery = time.Second
	// padBytes is more than a block of the log, which is 32 KiB.
	padBytes = 33 << 10
)

// tail protects the end of the log, in one goroutine.
//
// Damage within the last block of the log cannot be distinguished from a write that a crash cut
// short, and its content would be dropped. So after each burst of writes a block of padding
// follows, and one byte more whose sync proves the padding.
type tail struct {
	s       *Store
	armed   atomic.Bool  // a pad is due: the call that sets it wakes the goroutine
	touched atomic.Int64 // when the last write was acknowledged, in nanoseconds since start, plus one; 0: never
	start   time.Time
	wake    chan struct{}
	quit    chan struct{}
	ended   chan error
	pad     []byte
	noted   marks
}

func newTail(s *Store) *tail {
	return &tail{
		s: s, start: time.Now(), pad: make([]byte, padBytes),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan error, 1),
	}
}

// touch records an acknowledgement. It costs at most two atomic writes while writes go on.
func (t *tail) touch() {
	t.touched.Store(int64(time.Since(t.start)) + 1)
	if !t.armed.Load() && t.armed.CompareAndSwap(false, true) {
		select {
		case t.wake <- struct{}{}:
		default: // a pending wake-up is enough
		}
	}
}

// stop ends the goroutine, which pads the tail and writes the watermark once more.
func (t *tail) stop() error {
	close(t.quit)
	return <-t.ended
}

func (t *tail) run() {
	marking := time.NewTicker(markEvery)
	defer marking.Stop()
	padding := time.NewTimer(padAfter)
	defer padding.Stop()
	for {
		select {
		case <-t.wake:
			padding.Reset(padAfter)
		case <-padding.C:
			if left := t.quiet(); left > 0 {
				padding.Reset(left)
			} else if t.armed.Swap(false) {
				t.check("pad the log", t.padLog())
			}
		case <-marking.C:
			t.s.space.look(t.s)
			t.check("write the watermark", t.note())
		case <-t.quit:
			t.ended <- errors.Join(t.padLog(), t.note())
			return
		}
	}
}

// quiet returns how long the log must still be quiet for the burst to be over.
func (t *tail) quiet() time.Duration {
	return padAfter - (time.Since(t.start) - time.Duration(t.touched.Load()))
}

func (t *tail) padLog() error {
	if t.s.opts.Mode == Memory || t.touched.Load() == 0 {
		return nil
	}
	if err := t.s.logSync(t.pad); err != nil {
		return err
	}
	return t.s.logSync(t.pad[:1])
}

// note writes the watermark if it has changed. In [Memory] mode acknowledgements did not wait
// for the disk, so note does: a loss of power then costs what came since.
func (t *tail) note() error {
	now := t.s.acknowledged()
	if maps.Equal(now, t.noted) {
		return nil
	}
	if t.s.opts.Mode == Memory {
		if err := t.s.logSync(t.pad[:1]); err != nil {
			return err
		}
	}
	if err := t.s.writeNote(func(n *note) { n.marks = now }); err != nil {
		return err
	}
	t.noted = now
	return nil
}

// check logs an error of the background work, which is repeated with the next tick.
func (t *tail) check(what string, err error) {
	if err != nil && t.s.guard.err() == nil {
		t.s.logError(what, err)
	}
}
