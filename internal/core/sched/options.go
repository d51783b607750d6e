package sched

import (
	"cmp"
	"time"
)

// Tiers is the number of tiers: critical, high, default, low.
const Tiers = 4

// Unit is the weight 1.0.
const Unit = 1024

const (
	// halvingWorth is the age that each halving of the remaining work is worth.
	halvingWorth = 30 * time.Second
	// priorityWorth is the age that a point of priority is worth.
	priorityWorth = time.Minute
	// smallestEvery makes every n-th pick of a tenant go to its bulk action with the least
	// remaining work.
	smallestEvery = 4
	// guardBelow is the free part of the slots below which a tenant may not go beyond its
	// share of them.
	guardBelow = 0.20
)

// tierWeights are the shares of the tiers.
var tierWeights = [Tiers]int64{6, 3, 2, 1}

// Options configures [New]. The zero value is ready for production.
type Options struct {
	// Slots is the number of tasks that may be in flight. Default 0: unbounded, and
	// no slot guard.
	Slots int
	// Batch is the largest task in items that callers cut on a fast resource; it
	// only scales what counts as small. Default 100.
	Batch int
	// ExpressShare and AgedShare are the parts of a resource's rate that these
	// paths may take ahead of the tiers. Default 0.30 and 0.05.
	ExpressShare, AgedShare float64
	// AgedAfter is the wait after which a tenant counts as aged. Default 15s, 30s, 60s, 120s.
	AgedAfter [Tiers]time.Duration
}

func (o Options) withDefaults() Options {
	o.Batch = cmp.Or(o.Batch, 100)
	o.ExpressShare = cmp.Or(o.ExpressShare, 0.30)
	o.AgedShare = cmp.Or(o.AgedShare, 0.05)
	o.AgedAfter = cmp.Or(o.AgedAfter, [Tiers]time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute})
	return o
}
