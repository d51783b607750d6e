package readback

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// Info is what a bulk action was asked to be, with the changes since.
type Info struct {
	Name        string
	Tenant      string
	Tier        weir.Tier
	Priority    int
	Concurrency int
	StopOn      weir.StopRule
	Rates       map[string]weir.Rate
	Steps       []string
	Deadline    time.Time
	StartAt     time.Time // of one that is scheduled
	Submitted   time.Time
	RetryOf     weir.BulkID
	KeepFor     time.Duration   // after its end; 0: as long as all are
	Extra       json.RawMessage // of its [Ticket]
}

// Info tells what the bulk action is, as of when this handle was made.
func (b *Bulk) Info() Info {
	c := b.Spec
	i := Info{
		Name: c.Name, Tenant: c.Tenant, Tier: c.Tier, Priority: c.Priority, Concurrency: c.Concurrency, StopOn: c.StopOn,
		Steps: c.Steps, Submitted: time.Unix(0, c.Submitted).UTC(), RetryOf: c.RetryOf, KeepFor: time.Duration(c.KeepFor), Extra: c.Extra,
	}
	for step, r := range c.Rates {
		if i.Rates == nil {
			i.Rates = map[string]weir.Rate{}
		}
		i.Rates[step] = weir.Rate(r)
	}
	if c.Deadline != 0 {
		i.Deadline = time.Unix(0, c.Deadline).UTC()
	}
	if at := b.startAt(); at != 0 {
		i.StartAt = time.Unix(0, at).UTC()
	}
	return i
}

func (b *Bulk) startAt() int64 {
	if b.Status != nil {
		return b.Status.StartAt
	}
	return b.Spec.StartAt
}

// Lanes lists the lanes that the bulk action's steps use, by partition.
func (b *Bulk) Lanes() (lanes []weir.LaneID) {
	resources := map[string]bool{}
	for _, s := range b.from.Steps(b.Spec) {
		resources[s.Resource.Name] = true
	}
	parts := slices.Clone(b.Spec.Shards)
	if len(parts) == 0 {
		parts = []int{b.Home}
	}
	slices.Sort(parts)
	for _, p := range slices.Compact(parts) {
		for _, r := range slices.Sorted(maps.Keys(resources)) {
			lanes = append(lanes, weir.LaneID{Partition: p, Resource: r})
		}
	}
	return lanes
}

// lookedBlocks is how many blocks of a bulk action are read for some of its items.
const lookedBlocks = 8

// SomeItems yields about so many items of a bulk action as they were submitted, from
// all over it and by chance: data often repeats itself. The same are chosen every time.
func (b *Bulk) SomeItems(ctx context.Context, number int) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		all := int64(b.Spec.Blocks())
		read, rng := min(all, lookedBlocks), rand.New(rand.NewPCG(1, uint64(all)))
		for i := range read {
			items, err := b.open(ctx, uint32(i*all/read))
			if err != nil {
				yield(weir.RawItem{}, err)
				return
			}
			share := float64(number) / float64(read) / float64(items.Len())
			for k := range items.Len() {
				if rng.Float64() < share && !yield(weir.RawItem{ID: items.ID(k), Value: items.Data(k)}, nil) {
					return
				}
			}
		}
	}
}

// FirstItems yields the first items of a bulk action as they were submitted.
func (b *Bulk) FirstItems(ctx context.Context, most int) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for no := range b.Spec.Blocks() {
			items, err := b.open(ctx, no)
			if err != nil {
				yield(weir.RawItem{}, err)
				return
			}
			for i := range items.Len() {
				if most--; most < 0 || !yield(weir.RawItem{ID: items.ID(i), Value: items.Data(i)}, nil) {
					return
				}
			}
		}
	}
}
