package service

import (
	"context"

	"github.com/weirhq/weir"
)

// carrying lets a step look at what the step before it answered also at the first
// step of a retry: there the answer is not among the results of the bulk action,
// but was brought along with the item.
func (c *course) carrying(no int, call weir.Handler) weir.Handler {
	if no == 0 || len(c.needs(no)) == 0 {
		return call
	}
	before := c.names[no-1]
	return func(ctx context.Context, t *weir.Task) error {
		found := t.Output
		t.Output = func(i int, step string) []byte {
			if x := found(i, step); x != nil || step != before {
				return x
			}
			return t.Items[i].Previous
		}
		return call(ctx, t)
	}
}
