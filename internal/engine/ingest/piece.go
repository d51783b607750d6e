package ingest

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
)

// PutPiece keeps bytes under an id that [Intake.NewID] made and a number, durably,
// for a service that keeps more than items. Options.Drafts has to know the id.
func (in *Intake) PutPiece(ctx context.Context, id weir.BulkID, no uint32, piece []byte) error {
	p, err := stored.Home(id, in.Partitions())
	if err != nil {
		return err
	}
	sealed := partition.SealPiece(id, no, piece)
	if err := in.store.PutBlocks(ctx, p, id, no, [][]byte{sealed}); err != nil {
		return fmt.Errorf("write piece: %w", err)
	}
	return in.secure(ctx, p)
}

// GetPiece reads what PutPiece has written.
func (in *Intake) GetPiece(ctx context.Context, id weir.BulkID, no uint32) ([]byte, error) {
	p, err := stored.Home(id, in.Partitions())
	if err != nil {
		return nil, err
	}
	sealed, err := in.store.GetBlock(ctx, p, id, no)
	if err != nil {
		return nil, fmt.Errorf("read piece: %w", err)
	}
	return partition.UnsealPiece(id, no, sealed)
}

// DropPieces removes all pieces of an id.
func (in *Intake) DropPieces(ctx context.Context, id weir.BulkID) error {
	p, err := stored.Home(id, in.Partitions())
	if err != nil {
		return err
	}
	return in.store.DeleteBlocks(ctx, p, id)
}
