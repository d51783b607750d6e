package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

// InUseError names the nodes that use a store.
type InUseError struct{ Nodes []string }

// Error names them.
func (e *InUseError) Error() string {
	return fmt.Sprintf("nodes are using the store: %s; stop them first", strings.Join(e.Nodes, ", "))
}

// Unused returns an *InUseError while nodes use the store. A node that was killed counts until its lease has run out. Call
// it before and after the copy: a node that came in between is seen the second time.
func Unused(ctx context.Context, s store.Registry) error {
	nodes, err := own.Announced(ctx, s)
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		return &InUseError{Nodes: slices.Sorted(maps.Keys(nodes))}
	}
	return nil
}
