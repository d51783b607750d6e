package redisstore

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Spread is a [store.Store] over several unrelated servers, Sentinel sets or Clusters:
// partition p is on number p modulo their count. The list must keep its length and order as
// long as there is work: data of one server is not looked up on another.
type Spread struct{ stores []*Store }

var _ store.Store = (*Spread)(nil)

// NewSpread joins one or more stores. They are closed together.
func NewSpread(first *Store, more ...*Store) *Spread {
	return &Spread{append([]*Store{first}, more...)}
}

// placeRecord names the record that tells each server its place in the list.
const placeRecord = "place"

// OpenSpread opens a store over unrelated servers, one for each options, and notes in each its
// place in the list. It refuses a list that has another length or order than the one before:
// what the servers hold would not be found.
func OpenSpread(ctx context.Context, list ...Options) (*Spread, error) {
	s := &Spread{}
	for i, o := range list {
		one, err := Open(ctx, o)
		if err == nil {
			s.stores = append(s.stores, one)
			err = one.takePlace(ctx, fmt.Sprintf("%d of %d", i+1, len(list)), len(list) > 1)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// takePlace notes the server's place, or returns an error if it has another.
func (s *Store) takePlace(ctx context.Context, place string, several bool) error {
	noted, err := s.Lookup(ctx, placeRecord)
	if errors.Is(err, store.ErrNotFound) {
		records, lost := s.List(ctx, "", "", 1)
		switch {
		case lost != nil:
			return lost
		case !several:
			return nil // a single server needs no note
		case len(records) > 0:
			noted = []byte("1 of 1")
		default:
			noted, err = s.Swap(ctx, placeRecord, nil, []byte(place))
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if string(noted) != place {
		return fmt.Errorf("redisstore: server %s is number %s, and would be number %s: name the servers in their order, "+
			"none more and none less, until their work has ended", s.opts.Addresses[0], noted, place)
	}
	return nil
}

func (s *Spread) of(partition int) *Store { return s.stores[partition%len(s.stores)] }

// Durability returns the least of all of them.
func (s *Spread) Durability() string {
	for _, m := range []Mode{Memory, Disk} {
		if slices.ContainsFunc(s.stores, func(one *Store) bool { return one.Durability() == m.String() }) {
			return m.String()
		}
	}
	return Replicated.String()
}

// Health joins the errors of all of them.
func (s *Spread) Health() error { return s.each((*Store).Health) }

// Close closes all of them.
func (s *Spread) Close() error { return s.each((*Store).Close) }

func (s *Spread) each(f func(*Store) error) error {
	var errs []error
	for _, one := range s.stores {
		errs = append(errs, f(one))
	}
	return errors.Join(errs...)
}

// ofLimit returns the store of a resource's limits: all of them are on the same server.
func (s *Spread) ofLimit(l store.Limit) *Store {
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.Resource)) // never fails
	return s.stores[h.Sum32()%uint32(len(s.stores))]
}

// PutBlocks implements [store.Blocks].
func (s *Spread) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	return s.of(partition).PutBlocks(ctx, partition, id, first, blocks)
}

// GetBlock implements [store.Blocks].
func (s *Spread) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	return s.of(partition).GetBlock(ctx, partition, id, no)
}

// DeleteBlocks implements [store.Blocks].
func (s *Spread) DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error {
	return s.of(partition).DeleteBlocks(ctx, partition, id)
}

// BlockOwners implements [store.Blocks].
func (s *Spread) BlockOwners(ctx context.Context, partition int) ([]weir.BulkID, error) {
	return s.of(partition).BlockOwners(ctx, partition)
}

// Append implements [store.Inbox].
func (s *Spread) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	return s.of(partition).Append(ctx, partition, body, c)
}

// CloseClaims implements [store.Inbox].
func (s *Spread) CloseClaims(ctx context.Context, partition int, generation uint64) error {
	return s.of(partition).CloseClaims(ctx, partition, generation)
}

// Claimed implements [store.Inbox].
func (s *Spread) Claimed(ctx context.Context, partition int, key string) ([]byte, error) {
	return s.of(partition).Claimed(ctx, partition, key)
}

// Read implements [store.Inbox].
func (s *Spread) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	return s.of(partition).Read(ctx, partition, after, limit)
}

// Peek implements [store.Inbox].
func (s *Spread) Peek(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	return s.of(partition).Peek(ctx, partition, after, limit)
}

// Commit implements [store.State].
func (s *Spread) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	return s.of(partition).Commit(ctx, partition, tok, b)
}

// Last implements [store.State].
func (s *Spread) Last(ctx context.Context, partition int) (store.Last, error) {
	return s.of(partition).Last(ctx, partition)
}

// Get implements [store.State].
func (s *Spread) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	return s.of(partition).Get(ctx, partition, key)
}

// GetMany implements [store.State].
func (s *Spread) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	return s.of(partition).GetMany(ctx, partition, keys)
}

// Scan implements [store.State].
func (s *Spread) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	return s.of(partition).Scan(ctx, partition, prefix, yield)
}

// Page implements [store.State].
func (s *Spread) Page(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
	return s.of(partition).Page(ctx, partition, r, limit)
}

// Acquire implements [store.Leases].
func (s *Spread) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return s.of(partition).Acquire(ctx, partition, owner, ttl)
}

// Reclaim implements [store.Witness].
func (s *Spread) Reclaim(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return s.of(partition).Reclaim(ctx, partition, owner, ttl)
}

// Renew implements [store.Leases].
func (s *Spread) Renew(ctx context.Context, partition int, tok store.Token, ttl time.Duration) (store.Last, error) {
	return s.of(partition).Renew(ctx, partition, tok, ttl)
}

// Release implements [store.Leases].
func (s *Spread) Release(ctx context.Context, partition int, tok store.Token) error {
	return s.of(partition).Release(ctx, partition, tok)
}

// Announce implements [store.Registry], as do the others on the store of partition [store.Control].
func (s *Spread) Announce(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
	return s.of(store.Control).Announce(ctx, topic, r, ttl)
}

// Announced implements [store.Registry].
func (s *Spread) Announced(ctx context.Context, topic string) ([]store.Record, error) {
	return s.of(store.Control).Announced(ctx, topic)
}

// CheckIn implements [store.Registry].
func (s *Spread) CheckIn(ctx context.Context, topic string, r store.Record, ttl time.Duration, names ...string) (store.Attendance, error) {
	return s.of(store.Control).CheckIn(ctx, topic, r, ttl, names...)
}

// Swap implements [store.Registry].
func (s *Spread) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	return s.of(store.Control).Swap(ctx, name, old, value)
}

// Lookup implements [store.Registry].
func (s *Spread) Lookup(ctx context.Context, name string) ([]byte, error) {
	return s.of(store.Control).Lookup(ctx, name)
}

// List implements [store.Registry].
func (s *Spread) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	return s.of(store.Control).List(ctx, prefix, after, limit)
}

// Hold implements [store.Quotas].
func (s *Spread) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error) {
	return s.ofLimit(l).Hold(ctx, l, h, ttl)
}

// Draw implements [store.Quotas].
func (s *Spread) Draw(ctx context.Context, l store.Limit, units int64) (after time.Duration, ok bool, err error) {
	return s.ofLimit(l).Draw(ctx, l, units)
}

// Holdings implements [store.Quotas].
func (s *Spread) Holdings(ctx context.Context, l store.Limit) ([]store.Holding, error) {
	return s.ofLimit(l).Holdings(ctx, l)
}

// SetTargets implements [store.Quotas].
func (s *Spread) SetTargets(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
	return s.ofLimit(l).SetTargets(ctx, l, epoch, targets)
}
