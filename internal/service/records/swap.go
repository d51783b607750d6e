package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/store"
)

// tries is how often a write with an unknown outcome is attempted.
const tries = 3

// swap replaces old, nil for none, by value, and returns the bytes that are stored afterwards,
// which are value if it was written.
//
// If the response is lost, swap repeats the same swap, which cannot write twice: no other write
// has the mark of old. If old is nil, that does not hold, since value may have been written and
// removed, so swap only checks whether value is stored. Checking by a swap makes sure that the
// result is durable. If other writes followed, the marks tell in most cases whether value was
// written. If nothing tells, the error is [store.ErrUnknown].
func (t *Table[T]) swap(ctx context.Context, name string, old, value []byte) (held []byte, err error) {
	key := t.key(name)
	if len(key) > store.MaxName || len(value) > store.MaxRecord {
		return nil, fmt.Errorf("%w: its name takes %d bytes of at most %d, its content %d of at most %d",
			ErrTooBig, len(key), store.MaxName, len(value), store.MaxRecord)
	}
	held, err = t.keeper.Swap(ctx, key, old, value)
	if !errors.Is(err, store.ErrUnknown) {
		return held, err
	}
	lost, again := err, old
	if len(old) == 0 {
		again = value
	}
	for range tries - 1 {
		if ctx.Err() != nil {
			return nil, lost
		}
		if held, err = t.keeper.Swap(ctx, key, again, value); err == nil {
			return settle(key, old, value, held, lost)
		}
	}
	return nil, errors.Join(lost, err)
}

// settle derives from the stored bytes whether value was written, after a response was lost.
func settle(key string, old, value, held []byte, lost error) ([]byte, error) {
	if bytes.Equal(held, value) {
		return held, nil
	}
	if len(held) == 0 {
		return nil, lost // it was never written, or was removed
	}
	marks, _, err := open(key, held)
	if err != nil {
		return nil, errors.Join(lost, err)
	}
	switch {
	case len(value) > 0 && slices.Contains(marks, markOf(key, value)):
		return value, nil // and later writes followed
	case len(old) > 0 && slices.Contains(marks, markOf(key, old)):
		return held, nil // other writes followed old: value was never written
	}
	return nil, lost
}

// markOf returns the mark of stored bytes; the zero value, which no write draws, if they are
// damaged.
func markOf(key string, b []byte) mark {
	marks, _, err := open(key, b)
	if err != nil {
		return mark{}
	}
	return marks[0]
}
