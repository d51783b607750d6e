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

// causes has a row for each cause: its name in logs, metrics and lanes; the word that API, command
// line and reports use for what waits on it, empty if nothing does; whether it means that
// the downstream cannot be called, which may never end; and whether it bars the work: see Bars.
var causes = [NumCauses]struct {
	name, word string
	down, bars bool
}{
	CauseNone:         {"none", "", false, false},
	CauseRate:         {"rate", "rate", false, false},
	CauseConcurrency:  {"concurrency", "concurrency", false, false},
	CauseSlots:        {"slots", "no_workers", false, false},
	CauseFairShare:    {"fair_share", "fair_share", false, false},
	CausePaused:       {"paused", "paused", false, true},
	CauseClosed:       {"closed", "refused", true, true},
	CauseTenantCap:    {"tenant_cap", "concurrency", false, true},
	CauseBulkCap:      {"bulk_cap", "concurrency", false, true},
	CauseTenantPaused: {"tenant_paused", "paused_tenant", false, true},
	CauseCircuit:      {"circuit", "circuit_open", true, true},
	CauseFirstCall:    {"first_call", "first_call", false, true},
	CauseEmpty:        {"empty", "", false, false},
}

// String returns the cause's name.
func (c Cause) String() string { return causes[c].name }

// WaitingOn returns the word for what an entry waits on. It is empty for a cause that does not
// make it wait.
func (c Cause) WaitingOn() string { return causes[c].word }

// Down reports whether the downstream cannot be called.
func (c Cause) Down() bool { return causes[c].down }

// Bars reports whether more capacity or another order would not let the entry run: it, its tenant or its downstream is
// paused, cannot be called, or has the calls that it may have.
func (c Cause) Bars() bool { return causes[c].bars }

// CauseNamed returns the cause with a name, or CauseNone.
func CauseNamed(name string) Cause {
	return firstCause(func(c Cause) bool { return causes[c].name == name })
}

// CauseFor returns a cause that has the word, or CauseNone. Causes with the same word
// are alike in [Cause.Down].
func CauseFor(word string) Cause {
	return firstCause(func(c Cause) bool { return word != "" && causes[c].word == word })
}

func firstCause(is func(Cause) bool) Cause {
	for c := range Cause(NumCauses) {
		if is(c) {
			return c
		}
	}
	return CauseNone
}

// WaitingOn lists every word that [Cause.WaitingOn] can return, each once.
func WaitingOn() (all []string) {
	for _, c := range causes {
		if c.word != "" && !slices.Contains(all, c.word) {
			all = append(all, c.word)
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
