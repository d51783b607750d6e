package fleet

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirhq/weir/api"
)

// Health adds this node's state to h: whether its store accepts submits, and whether the
// partitions have owners that can run them.
func (s *Fleet) Health(ctx context.Context, h *api.Health) {
	h.Node, h.Durability = s.engine.Name(), s.store.Durability()
	if _, err := s.engine.Operator().Partitions(ctx); err != nil {
		h.Problems = append(h.Problems, "the store does not answer") // the cause is in the log: callers must not learn addresses
	}
	if problem := s.StoreProblem(); problem != "" && len(h.Problems) == 0 {
		h.Problems = append(h.Problems, problem)
	}
	if err := s.engine.Health(); err != nil {
		h.Problems = append(h.Problems, strings.Split(err.Error(), "\n")...)
	}
	if none := s.engine.Unowned(); len(none) > 0 && len(s.engine.Owned()) == 0 {
		h.Problems = append(h.Problems, fmt.Sprintf("%d partitions have no owner yet", len(none)))
	}
	if len(h.Problems) > 0 {
		h.Status = "degraded"
	}
}
