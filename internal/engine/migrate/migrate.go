package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	leaseFor = 30 * time.Second // of a process that migrates
	askEvery = 250 * time.Millisecond
)

// Run migrates a store that has data of an earlier format, and does nothing otherwise. node is the unique name of the
// caller. Data of a format that this version cannot read is refused with an [*own.FormatError], and nothing is changed.
func Run(ctx context.Context, s store.Store, node string, log *slog.Logger) error {
	r := &run{s: s, node: node, log: log}
	for {
		done, err := r.alone(ctx)
		if done || err != nil {
			return err
		}
		r.control, err = s.Acquire(ctx, store.Control, node, leaseFor)
		switch {
		case err == nil:
			err = r.migrate(ctx)
			err = errors.Join(err, s.Release(context.WithoutCancel(ctx), store.Control, r.control))
			if !errors.Is(err, store.ErrFenced) {
				return err
			}
		case !errors.Is(err, store.ErrHeld):
			return fmt.Errorf("migrate the store: %w", err)
		}
		own.Pause(ctx, askEvery, nil) // another process migrates
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Check refuses a store with data of a format that this version cannot read, with an [*own.FormatError]. It changes nothing.
func Check(ctx context.Context, s store.Registry) error {
	raw, err := s.Lookup(ctx, own.MapName)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		_, err = own.ReadableMap(raw)
	}
	return err
}

// run is one attempt to migrate a store.
type run struct {
	s       store.Store
	node    string
	log     *slog.Logger
	control store.Token // keeps other processes from migrating at the same time
	renewed time.Time

	raw []byte // the map as it is stored
	m   *own.Map
}

// look reads the map, and reports whether there is nothing to migrate.
func (r *run) look(ctx context.Context) (done bool, err error) {
	if _, err := r.s.Lookup(ctx, own.RestoringName); !errors.Is(err, store.ErrNotFound) {
		return true, err // a restore has not ended: whoever opens the store refuses it
	}
	r.raw, err = r.s.Lookup(ctx, own.MapName)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	if err == nil {
		r.m, err = own.ReadableMap(r.raw)
	}
	if err != nil {
		return false, fmt.Errorf("read the map of partitions: %w", err)
	}
	return r.m.Format == own.StoredFormat && r.m.Migrating == nil, nil
}

// alone does the same as look, and returns an error while nodes use the store: they are of an earlier version.
func (r *run) alone(ctx context.Context) (done bool, err error) {
	if done, err = r.look(ctx); done || err != nil {
		return done, err
	}
	nodes, err := own.Announced(ctx, r.s)
	if err != nil || len(nodes) == 0 {
		return false, err
	}
	if done, err = r.look(ctx); done || err != nil { // they came after a migration that ended meanwhile
		return done, err
	}
	return false, fmt.Errorf("the store has data of format %d, and this version of weir uses format %d; nodes of the version before are "+
		"using the store: %s; stop all of them, then start this version", r.m.Format, own.StoredFormat,
		strings.Join(slices.Sorted(maps.Keys(nodes)), ", "))
}

// migrate does what is left to do.
func (r *run) migrate(ctx context.Context) error {
	if done, err := r.alone(ctx); done || err != nil { // another process was faster
		return err
	}
	at := own.Migrating{From: r.m.Format}
	switch was := r.m.Migrating; {
	case was != nil && r.m.Format == own.StoredFormat:
		at = *was
	case was != nil: // that version did not end it, and this one has more to do
		at.From = was.From
	}
	r.renewed = time.Now()
	attrs := []slog.Attr{slog.Int("from", at.From), slog.Int("to", own.StoredFormat)}
	r.log.LogAttrs(ctx, slog.LevelInfo, "migrating the store to another format",
		append(attrs, slog.Int("partitions", r.m.Most), slog.Int("done", at.Done))...)
	if err := r.note(ctx, &at, nil); err != nil {
		return err
	}
	for ; at.Done < r.m.Most; at.Done++ {
		if err := r.partition(ctx, at.Done, since(at.From)); err != nil {
			return fmt.Errorf("migrate partition %d to format %d: %w", at.Done, own.StoredFormat, err)
		}
		if err := r.note(ctx, &own.Migrating{From: at.From, Done: at.Done + 1}, nil); err != nil {
			return err
		}
	}
	ended := own.Migrated{From: at.From, To: own.StoredFormat, At: time.Now().UnixNano()}
	if err := r.note(ctx, nil, &ended); err != nil {
		return err
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "store migrated", attrs...)
	return nil
}

// note writes into the map how far the migration is.
func (r *run) note(ctx context.Context, at *own.Migrating, ended *own.Migrated) error {
	m := *r.m
	m.Format, m.Migrating = own.StoredFormat, at
	if ended != nil {
		m.Migrated = append(slices.Clip(m.Migrated), *ended)
	}
	raw, err := json.Marshal(&m)
	if err != nil {
		return err
	}
	held, err := r.s.Swap(ctx, own.MapName, r.raw, raw)
	switch {
	case err != nil:
		return fmt.Errorf("write the map of partitions: %w", err)
	case string(held) != string(raw):
		return fmt.Errorf("the map of partitions was changed by another process: %w", store.ErrFenced)
	}
	r.raw, r.m = raw, &m
	return nil
}

// partition does the work in one partition.
func (r *run) partition(ctx context.Context, no int, todo []work) error {
	tok, err := r.s.Acquire(ctx, no, r.node, leaseFor)
	for errors.Is(err, store.ErrHeld) { // its owner was killed a moment ago
		if own.Pause(ctx, askEvery, nil); ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.keep(ctx); err != nil {
			return err
		}
		tok, err = r.s.Acquire(ctx, no, r.node, leaseFor)
	}
	if err != nil {
		return err
	}
	last, err := r.s.Last(ctx, no)
	if err != nil {
		return err
	}
	p := &part{run: r, no: no, tok: tok, number: last.Number, since: time.Now()}
	for _, w := range todo {
		if err := w.run(ctx, p); err != nil {
			return err
		}
	}
	return r.s.Release(ctx, no, tok)
}

// keep renews the lease that keeps other processes away.
func (r *run) keep(ctx context.Context) error {
	if time.Since(r.renewed) < leaseFor/6 {
		return nil
	}
	r.renewed = time.Now()
	_, err := r.s.Renew(ctx, store.Control, r.control, leaseFor)
	return err
}

// part is a partition that is being migrated.
type part struct {
	*run
	no     int
	tok    store.Token
	number uint64    // of the last commit
	since  time.Time // when the lease was renewed
}

// commit writes a batch and renews the leases.
func (p *part) commit(ctx context.Context, b store.Batch) error {
	b.Number = p.number + 1
	if err := p.s.Commit(ctx, p.no, p.tok, &b); err != nil {
		return err
	}
	p.number = b.Number
	if time.Since(p.since) >= leaseFor/6 {
		p.since = time.Now()
		if _, err := p.s.Renew(ctx, p.no, p.tok, leaseFor); err != nil {
			return err
		}
	}
	return p.keep(ctx)
}
