package quota

import (
	"math"
	"time"

	"github.com/weirhq/weir/store"
)

// How often a node reports about one limit.
const (
	reportEvery = int64(250 * time.Millisecond) // while it is in use
	reportSoon  = int64(50 * time.Millisecond)  // while its use drains, or its quota grows
	idleAfter   = int64(100 * time.Millisecond) // an idle time beyond this is more than a gap
	shortAfter  = int64(200 * time.Millisecond) // a rate that holds work back for longer is more than pacing
	growEvery   = int64(75 * time.Millisecond)  // from then on, time until twice as much is wanted
	mostGap     = int64(time.Second)            // upper bound on a gap
	leaveAfter  = int64(2 * time.Second)        // idle time after which everything is given back
	voidWait    = int64(50 * time.Millisecond)  // before the next permit, if one came too late; doubled each time
)

// View describes a node's own use of a limit.
type View struct {
	// Used is what the node has used in the window that ends now, without permits, or uses now.
	Used int64
	// Busy reports whether anything is wanted.
	Busy bool
	// Short is the time since which the limit holds work back; 0 if it does not.
	Short int64
	// Cost is the size of the task that is held back.
	Cost int64
	// Weight is the weight of the tenants that want something.
	Weight int64
	// Backlog is the amount that could start apart from limits; 0: unknown.
	Backlog int64
	// Permit is the rest of a permit that may still be used.
	Permit int64
}

// Ask is a request of a [Keeper] to the store.
type Ask struct {
	// Hold requests a call of Hold with Holding and TTL.
	Hold    bool
	Holding store.Holding
	TTL     time.Duration
	// Draw requests a call of Draw with so many units; 0: none.
	Draw int64
	// Wake is when to call Next again, if nothing happens before.
	Wake int64
}

// Keeper is one node's side of one limit: it decides when to ask the store for what, and what
// the answers allow. Times are the node's own, in nanoseconds.
//
// Call [Keeper.Next] after every change and at Wake, and report each answer: one Hold and one
// Draw may be under way at once.
type Keeper struct {
	limit store.Limit
	node  string
	ttl   time.Duration
	chunk int64

	quota, until int64 // what may be used, and until when

	hold struct {
		out    bool  // under way
		sent   int64 // when the last one was sent
		leaves bool  // it gives everything back
		soon   bool  // the next one should follow soon
		failed int   // in a row
	}
	said struct{ active, short bool } // in the last report
	here bool                         // the store knows of this node
	idle int64                        // idle since; 0: not idle
	gap  int64                        // the longest pause seen lately

	weight float64 // smoothed

	draw struct {
		out     bool
		sent    int64
		units   int64
		at      int64 // not before
		voids   int   // in a row
		refused bool  // just now
		scarce  bool  // the last permit was not available at once
	}
	permit struct {
		units, until int64 // the last one; 0 units: used or expired
	}
	drawn []permit // in the window that ends now
}

// NewKeeper returns the keeper of a node that holds nothing. ttl is how long a quota lasts
// without being renewed; chunk is the usual size of a task.
func NewKeeper(l store.Limit, node string, ttl time.Duration, chunk int64) *Keeper {
	return &Keeper{limit: l, node: node, ttl: ttl, chunk: max(chunk, 1), idle: math.MinInt64 / 2}
}

// Quota returns what may be used, and until when.
func (k *Keeper) Quota() (units, until int64) { return k.quota, k.until }

// Next returns what to ask now. The keeper counts it as asked.
func (k *Keeper) Next(now int64, v View) Ask {
	switch {
	case v.Busy:
		k.learnGap(now)
		k.idle = 0
	case k.idle == 0:
		k.idle = now
	}
	k.forget(now)
	a := Ask{Wake: never}
	if units := k.drawNow(now, v, &a.Wake); units > 0 {
		k.draw.out, k.draw.sent, k.draw.units = true, now, units
		a.Draw = units
	}
	if due := k.due(now, v); due <= now {
		k.report(now, v, &a)
		a.Wake = min(a.Wake, k.due(now, v))
	} else {
		a.Wake = min(a.Wake, due)
	}
	return a
}

// active reports whether something is wanted, or was a moment ago.
func (k *Keeper) active(now int64) bool { return k.idle == 0 || now < k.idle+k.idleFor() }

// idleFor returns the idle time after which the quota is given up. Bulk actions with a rate of
// their own pause between tasks; a node that gave up its quota in each pause would have to wait
// for it after each.
func (k *Keeper) idleFor() int64 { return min(max(idleAfter, 2*k.gap), mostGap) }

// learnGap records a pause that ends now.
func (k *Keeper) learnGap(now int64) {
	if k.idle == 0 {
		return
	}
	if k.gap -= k.gap / 64; now-k.idle < mostGap {
		k.gap = max(k.gap, now-k.idle)
	}
}

// short reports whether the limit truly holds work back.
func (k *Keeper) short(now int64, v View) bool {
	return v.Short != 0 && (k.limit.Window == 0 || now >= v.Short+shortAfter)
}

// due returns when the next report is to be sent.
func (k *Keeper) due(now int64, v View) int64 {
	active, short := k.active(now), k.short(now, v)
	switch {
	case k.hold.out, !k.here && !active:
		return never
	case !k.here && k.hold.failed == 0:
		return now
	}
	at := k.hold.sent + reportEvery
	switch {
	case k.hold.failed > 0:
		return k.hold.sent + min(reportSoon<<min(k.hold.failed-1, 3), reportEvery)
	case active != k.said.active, short && !k.said.short, k.hold.soon, v.Used > k.quota:
		at = k.hold.sent + reportSoon
	}
	if v.Short != 0 && !k.said.short {
		at = min(at, max(v.Short+shortAfter, k.hold.sent+reportSoon))
	}
	if k.idle != 0 && k.said.active {
		at = min(at, max(k.idle+k.idleFor(), k.hold.sent+reportSoon))
	}
	return at
}

// report fills in the node's report.
func (k *Keeper) report(now int64, v View, a *Ask) {
	if k.weight == 0 || !k.said.active {
		k.weight = float64(v.Weight)
	}
	if v.Busy {
		k.weight += (float64(v.Weight) - k.weight) / 8 // about two seconds: each shift costs a part of a window
	}
	h := store.Holding{
		Node: k.node, Used: v.Used, Held: v.Used, Drawn: k.sumDrawn(),
		Want: k.want(now, v), Weight: max(int64(k.weight), 1),
	}
	if now < k.until {
		h.Held = max(k.quota, v.Used)
	}
	k.said.active, k.said.short = k.active(now), k.short(now, v)
	a.Hold, a.Holding, a.TTL = true, h, k.ttl
	k.hold.leaves = k.idle != 0 && now >= k.idle+leaveAfter && k.mayLeave(v)
	if k.hold.leaves {
		a.TTL, a.Holding.Held, k.quota = 0, v.Used, 0
	}
	k.hold.out, k.hold.sent = true, now
	k.hold.soon = k.said.short && (h.Want < k.limit.Units || k.limit.Window == 0 && k.quota == 0)
	k.here = true
}

// want returns what the node could use: a little more than it uses, and more the longer it is
// held back, up to its backlog.
func (k *Keeper) want(now int64, v View) int64 {
	if !k.active(now) {
		return 0
	}
	use := v.Used + k.sumDrawn()
	most := max(use+use/4, 1)
	if k.short(now, v) {
		if k.limit.Window == 0 {
			most = k.limit.Units
		} else {
			most += k.chunk << min((now-v.Short-shortAfter)/growEvery, 32)
		}
	}
	if v.Backlog > 0 {
		most = min(most, use+v.Backlog)
	}
	return min(most, k.limit.Units)
}

// Held takes the answer to Hold. It may lower the quota at once.
func (k *Keeper) Held(now, quota int64, err error) {
	k.hold.out = false
	if err != nil {
		k.hold.failed++
		return
	}
	k.hold.failed = 0
	if k.hold.leaves {
		k.here, k.quota, k.until = false, 0, 0
		return
	}
	k.hold.soon = k.hold.soon || quota > k.quota
	k.quota = quota
	k.until = k.hold.sent + int64(k.ttl)/100*99 // clocks may drift apart a little
}

// mayLeave reports whether everything can be given back. What was used of a rate
// counts until it has left the window; tasks in flight would count no more.
func (k *Keeper) mayLeave(v View) bool { return k.limit.Window > 0 || v.Used == 0 }

// Leave gives everything back when a node ends. If speak is false there is nothing to report,
// or it must not be reported: what is held then expires.
func (k *Keeper) Leave(v View) (h store.Holding, speak bool) {
	speak = k.here && k.mayLeave(v)
	k.quota, k.until, k.here = 0, 0, false
	return store.Holding{Node: k.node, Held: v.Used, Used: v.Used}, speak
}
