package readback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// Source is what a [Reader] needs of a store.
type Source interface {
	stored.Source
	// Durability returns what an acknowledged write survives.
	Durability() string
}

// Reader reads bulk actions back.
type Reader struct {
	store  Source
	codec  *block.Codec
	losses *loss.Book
	ahead  int // entries of the index that a page looks at
	// Partitions returns how many partitions there are.
	Partitions func() int
	// Steps returns the steps of a bulk action, nil if this engine does not know them.
	Steps func(*partition.Created) []weir.Step
}

// New makes a reader. Its caller sets the functions before the first use.
func New(s Source, c *block.Codec, l *loss.Book) *Reader {
	return &Reader{store: s, codec: c, losses: l, ahead: lookAhead}
}

// Bulk is a bulk action that was accepted, to be read.
type Bulk struct {
	from   *Reader
	id     weir.BulkID
	Home   int // its partition
	Spec   *partition.Created
	Status *partition.Status // as of when it was found; nil: its owner had not read of it
}

// ID identifies the bulk action, also after a restart.
func (b *Bulk) ID() weir.BulkID { return b.id }

// Duplicates is how many rows were left out because their id came before.
func (b *Bulk) Duplicates() int64 { return b.Spec.Duplicates }

// Items is how many items were accepted.
func (b *Bulk) Items() int64 { return b.Spec.Items }

// Accepted returns a bulk action that its owner may not have read yet.
func (r *Reader) Accepted(p int, c *partition.Created) *Bulk {
	return &Bulk{from: r, id: c.ID, Home: p, Spec: c}
}

// Get finds a bulk action that was accepted earlier, by this process or one before.
func (r *Reader) Get(ctx context.Context, id weir.BulkID) (*Bulk, error) {
	p, err := stored.Home(id, r.Partitions())
	if err != nil {
		return nil, err
	}
	spec, status, err := partition.ReadStatus(stored.At(ctx, r.store, p), id)
	if errors.Is(err, store.ErrNotFound) {
		spec, err = stored.FindSpec(ctx, r.store, p, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, r.missing(p, id)
	}
	if err != nil {
		return nil, err
	}
	return &Bulk{from: r, id: id, Home: p, Spec: spec, Status: status}, nil
}

// Unfinished lists the bulk actions that have not ended, the newest first.
func (r *Reader) Unfinished(ctx context.Context) (ids []weir.BulkID, err error) {
	for p := range r.Partitions() {
		of, err := stored.IDs(ctx, r.store, p, r.Partitions(), stored.Unfinished)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	slices.SortFunc(ids, newestFirst)
	return ids, nil
}

// orGone is err. If something of the bulk action was not found, it is why: the
// bulk action was removed meanwhile, or the store is damaged.
func (b *Bulk) orGone(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if gone := stored.Gone(ctx, b.from.store, b.Home, b.id); gone != nil {
		return gone
	}
	if _, there := partition.ReadSpec(stored.At(ctx, b.from.store, b.Home), b.id); there == nil {
		return fmt.Errorf("%w: %v", store.ErrCorrupt, err) //nolint:errorlint // it is there, and parts of it are not
	}
	return err
}
