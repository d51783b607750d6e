package records

import "context"

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
		if err := IgnoreGone(err); err != nil {
			return err
		}
	}
	return nil
}
