package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

// ErrEmpty means that the store has nothing to copy.
var ErrEmpty = errors.New("no engine has ever used the store")

// Write copies what the store has to w. version is that of the program.
func Write(ctx context.Context, s store.Portable, w io.Writer, version string) (Summary, error) {
	var sum Summary
	now := time.Now()
	v, err := s.Snapshot(ctx)
	if err != nil {
		return sum, err
	}
	sum, err = write(ctx, v, w, Header{ID: rand.Text(), Taken: now.UTC().Round(0), Version: version})
	return sum, errors.Join(err, v.Close())
}

func write(ctx context.Context, v store.Snapshot, w io.Writer, h Header) (Summary, error) {
	m, err := mapOf(ctx, v)
	if err != nil {
		return Summary{}, err
	}
	h.Format, h.Partitions = m.Format, m.Most
	out, err := newWriter(w)
	if err != nil {
		return Summary{}, err
	}
	defer out.zip.Close()
	if err := out.addJSON(kindHeader, h); err != nil {
		return Summary{}, err
	}
	seen := make([]progress, m.Most+1)
	for i := range seen {
		if seen[i], err = writePartition(ctx, v, out, partitionAt(i, m.Most)); err != nil {
			return Summary{}, fmt.Errorf("copy partition %d: %w", partitionAt(i, m.Most), err)
		}
	}
	err = v.Records(ctx, func(r store.Record) error { return out.add(kindRecord, []byte(r.Name), r.Value) })
	if err != nil {
		return Summary{}, fmt.Errorf("copy the records: %w", err)
	}
	if err := unchanged(ctx, v, seen); err != nil {
		return Summary{}, err
	}
	if err := out.addJSON(kindEnd, out.counts); err != nil {
		return Summary{}, err
	}
	return Summary{h, out.counts}, out.flush()
}

// mapOf reads the map of partitions from the records.
func mapOf(ctx context.Context, v store.Snapshot) (m *own.Map, err error) {
	partial := false
	err = v.Records(ctx, func(r store.Record) error {
		switch r.Name {
		case own.RestoringName:
			partial = true
		case own.MapName:
			var err error
			m, err = own.ReadableMap(r.Value)
			return err
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case partial:
		return nil, errors.New("the store holds part of a backup: the restore into it has not ended")
	case m == nil:
		return nil, ErrEmpty
	case m.Migrating != nil:
		return nil, &own.FormatError{Format: m.Format, Migrating: m.Migrating}
	}
	return m, nil
}

// partitionAt returns the partition at a place in a file: those with work, and then the one without.
func partitionAt(i, most int) int {
	if i == most {
		return store.Control
	}
	return i
}

// progress is what changes with each write to a partition.
type progress struct {
	number   uint64
	messages int
}

func writePartition(ctx context.Context, v store.Snapshot, out *writer, p int) (seen progress, err error) {
	h, err := v.Head(ctx, p)
	if err != nil {
		return seen, err
	}
	seen.number = h.Number
	if err := out.add(kindPartition, number(uint64(p)), number(h.Number), number(h.Generation)); err != nil {
		return seen, err
	}
	err = v.Blocks(ctx, p, func(id weir.BulkID, no uint32, block []byte) error {
		return out.add(kindBlock, []byte(id), number(uint64(no)), block)
	})
	if err == nil {
		err = v.Claims(ctx, p, func(key string, value []byte) error { return out.add(kindClaim, []byte(key), value) })
	}
	if err == nil {
		err = v.Messages(ctx, p, func(body []byte) error { seen.messages++; return out.add(kindMessage, body) })
	}
	if err == nil {
		err = v.Rows(ctx, p, func(key, value []byte) error { return out.add(kindRow, key, value) })
	}
	return seen, err
}

// unchanged returns an error if a partition was written to while it was copied. That cannot be where the view is of one
// moment; elsewhere a node came that the caller did not see.
func unchanged(ctx context.Context, v store.Snapshot, seen []progress) error {
	for i, was := range seen {
		p := partitionAt(i, len(seen)-1)
		h, err := v.Head(ctx, p)
		is := progress{number: h.Number}
		if err == nil {
			err = v.Messages(ctx, p, func([]byte) error { is.messages++; return nil })
		}
		if err != nil {
			return err
		}
		if is != was {
			return fmt.Errorf("partition %d changed while it was copied: a node uses the store; stop all of them and copy it again", p)
		}
	}
	return nil
}
