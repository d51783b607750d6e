package engine

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/partition"
)

// carriedBlocks is where a retry keeps what the step before its first one
// answered: block no of the items has its answers in block no + carriedBlocks.
const carriedBlocks = 1 << 31

// carried fills in what a retried bulk action's earlier steps had answered.
func (e *Engine) carried(ctx context.Context, part int, t *partition.Task, items []weir.TaskItem) error {
	if t.FirstStep == 0 || t.StepNo != t.FirstStep {
		return nil
	}
	answers, err := e.cache.get(ctx, part, t.Bulk, t.Block+carriedBlocks)
	if err != nil {
		return fmt.Errorf("answers carried over: %w", err)
	}
	for i := range items {
		if a := answers.Data(int(t.Items[i])); len(a) > 0 {
			items[i].Previous = a
		}
	}
	return nil
}
