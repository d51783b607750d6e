package records

import (
	"context"
	"errors"

	"github.com/weirhq/weir"
)

// Sweep removes the records that gone reports as no longer needed.
func (t *Table[T]) Sweep(ctx context.Context, gone func(context.Context, Entry[T]) (bool, error)) error {
	for e, err := range t.All(ctx, "") {
		if err != nil {
			return err
		}
		yes, err := gone(ctx, e)
		if yes {
			err = t.Delete(ctx, e.Name)
		}
		if err != nil && !errors.Is(err, weir.ErrNotFound) {
			return err
		}
	}
	return nil
}
