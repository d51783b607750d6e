package stored

import (
	"context"

	"github.com/weirhq/weir/store"
)

// Rows reads one partition's state for package partition.
type Rows struct {
	ctx       context.Context
	store     store.State
	Partition int
}

// At returns the rows of a partition, to be read while ctx lasts.
func At(ctx context.Context, s store.State, partition int) Rows { return Rows{ctx, s, partition} }

// Get implements partition.Reader.
func (r Rows) Get(key []byte) ([]byte, error) { return r.store.Get(r.ctx, r.Partition, key) }

// GetMany implements partition.Reader.
func (r Rows) GetMany(keys [][]byte) ([][]byte, error) {
	return r.store.GetMany(r.ctx, r.Partition, keys)
}

// Page implements partition.PagedRows.
func (r Rows) Page(of store.Range, limit int) ([]store.Row, error) {
	return r.store.Page(r.ctx, r.Partition, of, limit)
}

// Scan implements partition.Reader.
func (r Rows) Scan(prefix []byte, yield func(key, value []byte) error) error {
	return r.store.Scan(r.ctx, r.Partition, prefix, yield)
}
