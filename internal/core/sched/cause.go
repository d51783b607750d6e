package sched

import (
	"slices"

	"github.com/weirhq/weir/internal/core/limit"
)

// Cause says why an entry is not running now.
type Cause uint8

// The causes.
const (
	CauseNone         Cause = iota // nothing is in its way
	CauseRate                      // the resource's rate is used up for now
	CauseConcurrency               // the resource has as many tasks in flight as it may
	CauseSlots                     // no worker slot is free
	CauseFairShare                 // it is the turn of others
	CausePaused                    // the group is paused
	CauseClosed                    // the downstream asked to be left alone for a while
	CauseTenantCap                 // the tenant has as many tasks in flight as it may
	CauseGroupCap                  // the group has as many tasks in flight as it may
	CauseTenantPaused              // nothing of the tenant may start
	CauseCircuit                   // the downstream fails, and is not called for a while
	CauseFirstCall                 // the first call of all has not succeeded yet
	CauseEmpty                     // it has nothing to run now
)

var causeNames = [...]string{
	"none", "rate", "concurrency", "slots", "fair_share", "paused", "closed", "tenant_cap", "group_cap", "tenant_paused", "circuit", "first_call", "empty",
}

// String returns the cause's name in logs and metrics.
func (c Cause) String() string { return causeNames[c] }

// waitingOn are the words of API, CLI and reports, by cause.
var waitingOn = [...]string{
	CauseRate: "rate", CauseConcurrency: "concurrency", CauseGroupCap: "concurrency", CauseTenantCap: "concurrency",
	CauseSlots: "no_workers", CauseFairShare: "fair_share", CauseClosed: "refused", CauseCircuit: "circuit_open", CauseFirstCall: "first_call", CausePaused: "paused", CauseTenantPaused: "paused_tenant", CauseEmpty: "",
}

// WaitingOn returns what people are told that an entry waits on; empty: that is no reason to wait.
func (c Cause) WaitingOn() string { return waitingOn[c] }

// WaitingOn lists all that [Cause.WaitingOn] can return, without the empty text.
func WaitingOn() (all []string) {
	for _, w := range waitingOn {
		if w != "" && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// Cause returns why e is not running now, as of the last Next.
func (q *Queue) Cause(e *Entry) Cause {
	g, r := e.group, e.flow.tier.r
	switch t := g.tenant; {
	case g.state == groupRemoved || e.head == 0:
		return CauseEmpty
	case g.state == groupPaused:
		return CausePaused
	case t.paused:
		return CauseTenantPaused
	case g.atCap():
		return CauseGroupCap
	case t.atCap():
		return CauseTenantCap
	case e.flow.state == flowParked:
		return r.closures[t.name].cause()
	case r.state == resourceSleeping || r.state == resourceWaiting:
		return r.cause
	case q.full() || q.tight() && q.atShare(g.tenant):
		return CauseSlots
	case r.active > 1 || len(e.flow.heaps[byScore]) > 1:
		return CauseFairShare
	}
	return CauseNone
}

// gateCause translates why the gate refused.
func (r *Resource) gateCause() Cause {
	switch r.gate.Cause() {
	case limit.CauseConcurrency, limit.CauseBearable:
		return CauseConcurrency
	case limit.CauseClosed:
		return CauseClosed
	case limit.CauseCircuit:
		return CauseCircuit
	case limit.CauseFirstCall:
		return CauseFirstCall
	case limit.CauseRate, limit.CauseNone:
	}
	return CauseRate
}
