package engine

import (
	"sync/atomic"

	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/engine/telemetry"
)

// parts holds the partitions that this node owns now, and what they have in common.
type parts struct {
	running [stored.MaxPartitions]atomic.Pointer[part]
	loading own.Loading // which of them are loaded first
	trials  trials
	told    complaints
	joining chan struct{} // has room for the one that makes a joint filter
}

// all yields the partitions that this node runs.
func (x *parts) all(yield func(*part) bool) {
	for i := range x.running {
		if p := x.running[i].Load(); p != nil && !yield(p) {
			return
		}
	}
}

// wake has all loops look again: at limits that have changed, or at what may start.
func (x *parts) wake(changed bool) {
	for p := range x.all {
		p.mail.put(input{limits: changed, renewed: !changed})
	}
}

// moved tells all loops that other nodes run other partitions than before.
func (x *parts) moved() {
	for p := range x.all {
		p.mail.put(input{reach: true})
	}
}

// held yields what the partitions held when they were last looked at.
func (x *parts) held(yield func(*telemetry.Census) bool) {
	for p := range x.all {
		if c := p.held.Load(); c != nil && !yield(c) {
			return
		}
	}
}

// pending counts the items of tenants that have a bound on them.
func (x *parts) pending() map[string]int64 {
	sum := map[string]int64{}
	for c := range x.held {
		for tenant, n := range c.Pending {
			sum[tenant] += n
		}
	}
	return sum
}
