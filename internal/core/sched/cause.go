package sched

import (
	"slices"

	"github.com/weirhq/weir/internal/core/limit"
)

// Cause is the reason why an entry is not running now.
type Cause uint8

// The causes.
const (
	CauseNone         Cause = iota // nothing blocks it
	CauseRate                      // the resource's rate is used up for now
	CauseConcurrency               // the resource has as many tasks in flight as it may
	CauseSlots                     // no worker slot is free
	CauseFairShare                 // other tenants come first
	CausePaused                    // the bulk action is paused
	CauseClosed                    // the downstream asked for a pause
	CauseTenantCap                 // the tenant has as many tasks in flight as it may
	CauseBulkCap                   // the bulk action has as many tasks in flight as it may
	CauseTenantPaused              // the tenant is paused
	CauseCircuit                   // the downstream fails; its circuit is open
	CauseFirstCall                 // the first call to the resource has not succeeded yet
	CauseEmpty                     // it has nothing to run now

	NumCauses = iota // how many there are
)

var causeNames = [...]string{
	"none", "rate", "concurrency", "slots", "fair_share", "paused", "closed", "tenant_cap", "bulk_cap", "tenant_paused",
	"circuit", "first_call", "empty",
}

// String returns the cause's name in logs, metrics and the causes of lanes.
func (c Cause) String() string { return causeNames[c] }

// waitingOn holds the words of API, CLI and reports, by cause.
var waitingOn = [...]string{
	CauseRate: "rate", CauseConcurrency: "concurrency", CauseBulkCap: "concurrency", CauseTenantCap: "concurrency",
	CauseSlots: "no_workers", CauseFairShare: "fair_share", CauseClosed: "refused", CauseCircuit: "circuit_open",
	CauseFirstCall: "first_call", CausePaused: "paused", CauseTenantPaused: "paused_tenant", CauseEmpty: "",
}

// WaitingOn returns the text shown for what an entry waits on. It is empty for a cause that
// does not make it wait.
func (c Cause) WaitingOn() string { return waitingOn[c] }

// WaitingOn lists every non-empty text that [Cause.WaitingOn] can return.
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
	g, r := e.bulk, e.flow.tier.r
	switch t := g.tenant; {
	case g.state == bulkRemoved || e.head == 0:
		return CauseEmpty
	case g.state == bulkPaused:
		return CausePaused
	case t.paused:
		return CauseTenantPaused
	case g.atCap():
		return CauseBulkCap
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

// gateCause translates the gate's reason for its last refusal.
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
