package result

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/outlook"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/report"
)

// Results reads and handles the results of bulk actions.
type Results struct {
	engine  *engine.Engine
	bulks   *bulk.Bulks
	actions *registry.Actions
	outlook *outlook.Outlook
	links   *records.Table[linked]
	handled *records.Table[handled]
	undos   *records.Table[undoing]
	known   known
}

// New returns the results of the bulk actions of an engine. The registry keeps which items were
// retried, discarded and undone.
func New(e *engine.Engine, b *bulk.Bulks, a *registry.Actions, o *outlook.Outlook, k records.Keeper) *Results {
	s := &Results{
		engine: e, bulks: b, actions: a, outlook: o,
		links: records.New[linked](k, "link"), handled: records.New[handled](k, "handled"), undos: records.New[undoing](k, "undo"),
		known: known{turn: make(chan struct{}, 1), parts: map[partOf]*knownPart{}},
	}
	s.known.turn <- struct{}{}
	return s
}

// Sweep removes the records of bulk actions that are gone. Their names begin with its id.
func (s *Results) Sweep(ctx context.Context, gone func(ctx context.Context, id string) (bool, error)) error {
	return errors.Join(sweep(ctx, s.links, gone), sweep(ctx, s.handled, gone), sweep(ctx, s.undos, gone))
}

func sweep[T any](ctx context.Context, t *records.Table[T], gone func(ctx context.Context, id string) (bool, error)) error {
	return t.Sweep(ctx, func(ctx context.Context, e records.Entry[T]) (bool, error) {
		id, _, _ := strings.Cut(e.Name, "/")
		return gone(ctx, id)
	})
}

// linked is a bulk action created from another: a retry or an undo.
type linked struct {
	Of   string    `json:"of"`
	Kind string    `json:"kind"` // retry or undo
	At   time.Time `json:"at"`
	// State is the final state of the retried items. Empty: failed.
	State report.State `json:"state,omitempty"`
}
