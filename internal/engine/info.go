package engine

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/ingest"
)

// Chain returns the name of its chain, and whether this engine has the steps of it. Chains that come with their text are known.
func (b *BulkAction) Chain() (name string, known bool) {
	return b.Spec.Chain, b.Spec.Text != nil || b.engine.catalog.Steps(b.Spec.Chain) != nil
}

// Described reports whether this process can make the steps of the bulk action.
func (b *BulkAction) Described() bool { return b.engine.catalog.Of(b.Spec) != nil }

// CheckSpec says what is wrong with a spec, without submitting anything.
func (e *Engine) CheckSpec(d weir.Definition, s weir.Spec) error {
	_, err := e.checkSpec(d, s)
	return err
}

// Adopts reports whether the bulk action has blocks of items that were set aside for it: they are removed with it.
func (b *BulkAction) Adopts(s ingest.Stage) bool { return b.Spec.Adopts(weir.BulkID(s.ID)) }
