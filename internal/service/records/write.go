package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// rounds is how often a write starts over after losing to another. For each lost round another
// write has succeeded.
const rounds = 1 << 20

// errContended ends a write that has lost all its rounds.
var errContended = errors.New("too many concurrent changes")

// Insert creates a record. If it exists, Insert returns it with [ErrExists].
func (t *Table[T]) Insert(ctx context.Context, name string, v T) (Entry[T], error) {
	var there Entry[T]
	e, err := t.guess(ctx, name, nil, func(now *Entry[T], found bool) error {
		if found {
			there = *now
			return ErrExists
		}
		now.Value = v
		return nil
	})
	if errors.Is(err, ErrExists) {
		return there, err
	}
	return e, err
}

// Update changes a record, or returns [weir.ErrNotFound]. After a concurrent write, change is
// called again with the new content: it must depend on nothing else. If change returns an error or
// leaves the record as it is, nothing is written.
func (t *Table[T]) Update(ctx context.Context, name string, change func(*T) error) (Entry[T], error) {
	return t.change(ctx, name, func(now *Entry[T], found bool) error {
		if !found {
			return weir.ErrNotFound
		}
		return change(&now.Value)
	})
}

// UpdateIf is [Table.Update] for a record that must still have a version; otherwise it returns
// [ErrChanged].
func (t *Table[T]) UpdateIf(ctx context.Context, name, version string, change func(*T) error) (Entry[T], error) {
	return t.change(ctx, name, func(now *Entry[T], found bool) error {
		switch {
		case !found:
			return weir.ErrNotFound
		case now.Version != version:
			return ErrChanged
		}
		return change(&now.Value)
	})
}

// Put is [Table.Update], but creates a missing record: change then gets the zero value.
func (t *Table[T]) Put(ctx context.Context, name string, change func(v *T, found bool) error) (Entry[T], error) {
	return t.change(ctx, name, func(now *Entry[T], found bool) error { return change(&now.Value, found) })
}

// PutNew is [Table.Put] for a record that is most likely missing: it is not read before. If there is one, change is called
// again with it.
func (t *Table[T]) PutNew(ctx context.Context, name string, change func(v *T, found bool) error) (Entry[T], error) {
	return t.guess(ctx, name, nil, func(now *Entry[T], found bool) error { return change(&now.Value, found) })
}

// UpdateFrom is [Table.Update] for a record that the caller has written last, as far as it knows: it is not read before.
func (t *Table[T]) UpdateFrom(ctx context.Context, e Entry[T], change func(*T) error) (Entry[T], error) {
	if e.raw == nil {
		return t.Update(ctx, e.Name, change)
	}
	return t.guess(ctx, e.Name, e.raw, func(now *Entry[T], found bool) error {
		if !found {
			return weir.ErrNotFound
		}
		return change(&now.Value)
	})
}

// change writes the result of a function on a record, and starts over after a concurrent write.
func (t *Table[T]) change(ctx context.Context, name string, change func(now *Entry[T], found bool) error) (Entry[T], error) {
	if name == "" {
		return Entry[T]{}, t.failed(name, errors.New("a record needs a name"))
	}
	old, err := t.lookup(ctx, name)
	return t.write(ctx, name, old, err, change)
}

// guess is change for a record that is expected to be old, nil for none: it saves the look before. If it is not, the
// write is refused and tells what is there.
func (t *Table[T]) guess(ctx context.Context, name string, old []byte,
	change func(now *Entry[T], found bool) error) (Entry[T], error) {
	if name == "" {
		return t.change(ctx, name, change)
	}
	e, err := t.write(ctx, name, old, nil, change)
	if errors.Is(err, store.ErrFull) { // a store without room refuses without a look at what is there
		return t.change(ctx, name, change)
	}
	return e, err
}

func (t *Table[T]) write(ctx context.Context, name string, old []byte, err error,
	change func(now *Entry[T], found bool) error) (Entry[T], error) {
	for range rounds {
		if err != nil {
			return Entry[T]{}, t.failed(name, err)
		}
		e, raw, err2 := t.next(name, old, change)
		if err2 != nil {
			return Entry[T]{}, t.failed(name, err2)
		}
		if raw == nil {
			return e, nil
		}
		if old, err = t.swap(ctx, name, old, raw); err == nil && bytes.Equal(old, raw) {
			e.raw = raw
			return e, nil
		}
	}
	return Entry[T]{}, t.failed(name, errContended)
}

// next applies the function to the stored bytes, nil for none. Without new bytes there is nothing
// to write.
func (t *Table[T]) next(name string, old []byte, change func(now *Entry[T], found bool) error) (e Entry[T], raw []byte, err error) {
	var marks []mark
	var before []byte
	if found := len(old) > 0; found {
		if e, err = t.entry(name, old); err != nil {
			return e, nil, err
		}
		marks, _, _ = open(t.key(name), old) // entry has checked it
		if before, err = json.Marshal(e.Value); err != nil {
			return e, nil, fmt.Errorf("encode: %w", err)
		}
	}
	e.Name = name
	if err := change(&e, len(old) > 0); err != nil {
		return e, nil, err
	}
	after, err := json.Marshal(e.Value)
	if err != nil {
		return e, nil, fmt.Errorf("encode: %w", err)
	}
	if before != nil && bytes.Equal(before, after) {
		return e, nil, nil
	}
	raw = seal(t.key(name), marks, after)
	e.Version = markOf(t.key(name), raw).String()
	return e, raw, nil
}

// Delete removes a record, also a damaged one, or returns [weir.ErrNotFound]. Of several
// concurrent calls, more than one may report success.
func (t *Table[T]) Delete(ctx context.Context, name string) error {
	return t.remove(ctx, name, func([]byte) error { return nil })
}

// DeleteIf is [Table.Delete] for a record that must still have a version; otherwise it returns
// [ErrChanged].
func (t *Table[T]) DeleteIf(ctx context.Context, name, version string) error {
	return t.remove(ctx, name, func(raw []byte) error {
		marks, _, err := open(t.key(name), raw)
		if err == nil && marks[0].String() != version {
			err = ErrChanged
		}
		return err
	})
}

// remove removes a record if check allows it, and starts over after a concurrent write.
func (t *Table[T]) remove(ctx context.Context, name string, may func(raw []byte) error) error {
	old, err := t.lookup(ctx, name)
	if err == nil && old == nil {
		err = weir.ErrNotFound
	}
	for range rounds {
		if err == nil {
			err = may(old)
		}
		if err != nil {
			return t.failed(name, err)
		}
		if old, err = t.swap(ctx, name, old, nil); err == nil && old == nil {
			return nil
		}
	}
	return t.failed(name, errContended)
}

// IgnoreGone ignores the error that a record does not exist.
func IgnoreGone(err error) error {
	if errors.Is(err, weir.ErrNotFound) {
		return nil
	}
	return err
}
