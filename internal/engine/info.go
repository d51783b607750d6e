package engine

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
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
func (b *BulkAction) Info() Info {
	c := b.spec
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

func (b *BulkAction) startAt() int64 {
	if b.status != nil {
		return b.status.StartAt
	}
	return b.spec.StartAt
}

// Chain returns the name of its chain, and whether this engine has the steps of it. Chains that come with their text are known.
func (b *BulkAction) Chain() (name string, known bool) {
	return b.spec.Chain, b.spec.Text != nil || b.engine.steps(b.spec.Chain) != nil
}

// CheckSpec says what is wrong with a spec, without submitting anything.
func (e *Engine) CheckSpec(d weir.Definition, s weir.Spec) error {
	_, err := e.checkSpec(d, s)
	return err
}

// IDs lists all bulk actions, the newest first: ids are in the order of time.
func (e *Engine) IDs(ctx context.Context) (ids []weir.BulkID, err error) {
	for p := range e.layout.now().Most {
		of, err := e.idsIn(ctx, p)
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	slices.SortFunc(ids, func(a, b weir.BulkID) int { return strings.Compare(string(b), string(a)) })
	return ids, nil
}

// Owns reports whether this node owns the partition of a bulk action. It is for
// dividing work among nodes that one of them has to do.
func (e *Engine) Owns(id weir.BulkID) bool {
	p, err := e.partitionOf(id)
	return err == nil && e.parts[p].Load() != nil
}

// lookedBlocks is how many blocks of a bulk action are read for some of its items.
const lookedBlocks = 8

// SomeItems yields about so many items of a bulk action as they were submitted, from
// all over it and by chance: data often repeats itself. The same are chosen every time.
func (b *BulkAction) SomeItems(ctx context.Context, number int) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		all := int64(b.spec.Blocks())
		read, rng := min(all, lookedBlocks), rand.New(rand.NewPCG(1, uint64(all)))
		for i := range read {
			items, err := openBlock(ctx, b.engine.store, b.engine.codec, b.partition, b.id, uint32(i*all/read))
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
func (b *BulkAction) FirstItems(ctx context.Context, most int) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for no := range b.spec.Blocks() {
			items, err := openBlock(ctx, b.engine.store, b.engine.codec, b.partition, b.id, no)
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
