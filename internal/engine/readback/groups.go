package readback

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
)

// ErrorGroups tells why items failed, the largest group first. Counts of a bulk
// action that has ended are exact. While it runs, Missed is how many more there may
// be of a group. The cost depends on the number of groups alone, unless messages
// are of more kinds than are counted apart: then the failures of an ended one are read.
func (b *Bulk) ErrorGroups(ctx context.Context) ([]weir.ErrorGroup, error) {
	r, err := b.outline(ctx)
	if err != nil {
		return nil, fmt.Errorf("error groups of %s: %w", b.id, err)
	}
	groups, err := r.groups(ctx)
	return r.public(groups, err)
}

// FoundGroups is [Bulk.ErrorGroups] as of when [Reader.Get] found it: it reads
// the groups as they were counted, and nothing else, so Missed may be set of one that has ended, too.
func (b *Bulk) FoundGroups(ctx context.Context) ([]weir.ErrorGroup, error) {
	if b.Status == nil {
		return b.ErrorGroups(ctx)
	}
	r := &Report{bulk: b}
	parts, err := r.partGroups(ctx)
	return r.public(fault.Merge(parts...), err)
}

func (r *Report) public(groups []fault.Group, err error) ([]weir.ErrorGroup, error) {
	if err != nil {
		return nil, fmt.Errorf("error groups of %s: %w", r.bulk.id, err)
	}
	list := make([]weir.ErrorGroup, len(groups))
	for i, g := range groups {
		list[i] = weir.ErrorGroup{
			Step: r.bulk.Spec.Steps[g.Step], Code: g.Code, Message: g.Message, Other: g.Other, Count: g.Count, Missed: g.Missed,
			First: stored.Moment(g.First), Last: stored.Moment(g.Last), Item: g.Item, Sample: g.Sample,
		}
	}
	return list, nil
}

// groups adds up the failures that the partitions have counted. If a partition
// had more kinds than it counts apart, those of an ended bulk action are counted again.
func (r *Report) groups(ctx context.Context) ([]fault.Group, error) {
	parts, err := r.partGroups(ctx)
	if err != nil || !r.bulk.Status.State.Final() || !fault.Inexact(parts...) {
		return fault.Merge(parts...), err
	}
	exact := fault.Recount(parts...)
	err = r.countFailures(ctx, exact)
	return exact.All(), err
}

// partGroups returns what the partitions have counted. Where an older version has
// worked that is fewer than there are, and the results are looked through.
func (r *Report) partGroups(ctx context.Context) (parts [][]fault.Group, err error) {
	if r.bulk.Status.Failed == 0 {
		return nil, nil
	}
	counted := int64(0)
	for _, p := range r.bulk.places() {
		list, err := partition.ReadGroups(stored.At(ctx, r.bulk.from.store, p), r.bulk.id)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Step < 0 || list[i].Step >= len(r.bulk.Spec.Steps) {
				return nil, fmt.Errorf("failures at step %d of %d", list[i].Step, len(r.bulk.Spec.Steps))
			}
			counted += list[i].Count
		}
		parts = append(parts, list)
	}
	if counted >= r.bulk.Status.Failed { // more than that has become durable since
		return parts, nil
	}
	var g fault.Groups
	err = r.countFailures(ctx, &g)
	return [][]fault.Group{g.List()}, err
}

// countFailures counts the failures of all blocks in which something failed.
func (r *Report) countFailures(ctx context.Context, g *fault.Groups) error {
	b := r.bulk
	return r.eachBlock(ctx, func(at blockState) error {
		if at.state.Failed.Empty() {
			return nil
		}
		base := b.Spec.Position(at.no)
		return partition.ReadResults(stored.At(ctx, b.from.store, at.partition), b.from.codec, b.id, at.no, func(x block.Result) error {
			if x.Kind == block.Failure && int(x.Step) < len(b.Spec.Steps) {
				g.Add(x.At, int(x.Step), x.Code, x.Message, base+int64(x.Item))
			}
			return nil
		})
	})
}

// groupErrors puts the groups into the report, each with the id of an item.
func (r *Report) groupErrors(ctx context.Context) error {
	groups, err := r.groups(ctx)
	if err != nil {
		return err
	}
	b := r.bulk
	for _, g := range groups {
		no, i := b.Spec.Locate(g.Item)
		items, err := b.open(ctx, no)
		if err != nil {
			return err
		}
		x := report.Group{Step: b.Spec.Steps[g.Step], Code: g.Code, Message: g.Message, Count: g.Count,
			Sample: report.Sample{ID: items.ID(i), Message: g.Sample}}
		if g.Other {
			x.Code, x.Message = "other", "failures that have no group of their own"
		}
		r.Errors = append(r.Errors, x)
	}
	return nil
}
