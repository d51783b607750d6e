package engine

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// PutPiece keeps bytes under an id that [Engine.NewID] made and a number, durably,
// for a service that keeps more than items. Options.Drafts has to know the id.
func (e *Engine) PutPiece(ctx context.Context, id weir.BulkID, no uint32, piece []byte) error {
	p, err := e.partitionOf(id)
	if err != nil {
		return err
	}
	sealed := partition.SealPiece(id, no, piece)
	if err := e.store.PutBlocks(ctx, p, id, no, [][]byte{sealed}); err != nil {
		return fmt.Errorf("write piece: %w", err)
	}
	return e.secure(ctx, p)
}

// GetPiece reads what PutPiece has written.
func (e *Engine) GetPiece(ctx context.Context, id weir.BulkID, no uint32) ([]byte, error) {
	p, err := e.partitionOf(id)
	if err != nil {
		return nil, err
	}
	sealed, err := e.store.GetBlock(ctx, p, id, no)
	if err != nil {
		return nil, fmt.Errorf("read piece: %w", err)
	}
	return partition.UnsealPiece(id, no, sealed)
}

// DropPieces removes all pieces of an id.
func (e *Engine) DropPieces(ctx context.Context, id weir.BulkID) error {
	p, err := e.partitionOf(id)
	if err != nil {
		return err
	}
	return e.store.DeleteBlocks(ctx, p, id)
}
