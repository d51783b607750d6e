package pebblestore

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// guard records whether the store is broken. It stays broken: after a failed sync the kernel
// may have dropped what it could not write, and a second sync that succeeds would prove
// nothing.
type guard struct {
	once    sync.Once
	cause   error
	broken  chan struct{} // closed after cause is set
	armed   atomic.Bool   // false while the store is being opened: Open returns the error then
	onFatal func(error)
}

func (g *guard) init(onFatal func(error)) {
	g.broken = make(chan struct{})
	g.onFatal = onFatal
}

// fail marks the store broken, calls the hook once, and returns the error for calls under way.
func (g *guard) fail(err error) error {
	g.once.Do(func() {
		g.cause = unknown(fmt.Errorf("store is broken: %w", err))
		close(g.broken)
		if g.armed.Load() {
			g.onFatal(err)
		}
	})
	<-g.broken
	return g.cause
}

// err returns nil while the store is sound.
func (g *guard) err() error {
	select {
	case <-g.broken:
		return g.cause
	default:
		return nil
	}
}

// watch calls f, and stops waiting for it if the store breaks meanwhile: Pebble does not return
// then.
func (g *guard) watch(f func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-g.broken:
		return g.cause
	}
}

// pebbleLog is the logger for Pebble.
type pebbleLog struct{ s *Store }

// Infof drops Pebble's routine messages.
func (l pebbleLog) Infof(string, ...any) {}

// Errorf logs.
func (l pebbleLog) Errorf(format string, args ...any) {
	l.s.log.Error("pebble", slog.String("error", fmt.Sprintf(format, args...)))
}

// Fatalf marks the store broken. Pebble must not continue after it, so it never returns.
func (l pebbleLog) Fatalf(format string, args ...any) {
	_ = l.s.guard.fail(fmt.Errorf(format, args...))
	select {}
}

// events reports damage found while reading. Without a listener Pebble would call Fatalf; but
// damage in one table need not stop the store, since the reader gets an error.
func (s *Store) events() *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption:  func(i pebble.DataCorruptionInfo) { s.logError("damaged data", i.Details) },
		BackgroundError: func(err error) { s.logError("work in the background", err) },
	}
}

func (s *Store) logError(what string, err error) {
	s.log.Error("store is in trouble", slog.String("what", what), slog.String("dir", s.dir), slog.Any("error", err))
}
