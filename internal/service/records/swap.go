package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/store"
)

// tries is how often a write is made whose outcome is unknown.
const tries = 3

// swap puts value in the place of old, nil for none, and returns what is there
// afterwards, which is value if it was written.
//
// If the answer is lost, the same swap is made again, which cannot write twice: no
// other write has the mark of old. Where old is none that does not hold, value may
// have been there and been removed, so it is only asked whether value is there.
// Asking by a swap makes sure that the answer is durable. If others have written
// since, the marks tell in most cases whether value was there. If nothing tells,
// the error is [store.ErrUnknown].
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

// settle tells from what is there now whether value was there, after an answer was lost.
func settle(key string, old, value, held []byte, lost error) ([]byte, error) {
	if bytes.Equal(held, value) {
		return held, nil
	}
	if len(held) == 0 {
		return nil, lost // it never was there, or has been removed
	}
	marks, _, err := open(key, held)
	if err != nil {
		return nil, errors.Join(lost, err)
	}
	switch {
	case len(value) > 0 && slices.Contains(marks, markOf(key, value)):
		return value, nil // and others have written on top of it
	case len(old) > 0 && slices.Contains(marks, markOf(key, old)):
		return held, nil // others have written on top of old: value never was there
	}
	return nil, lost
}

// markOf is the mark of stored bytes; the zero value, which nobody draws, if they are damaged.
func markOf(key string, b []byte) mark {
	marks, _, err := open(key, b)
	if err != nil {
		return mark{}
	}
	return marks[0]
}
