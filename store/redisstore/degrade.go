package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Short describes a server that has fewer replicas than promised.
type Short struct {
	Server     string    // its address
	Have, Want int       // replicas that are connected, and that are promised
	Since      time.Time // by our clock
	// Waits is true while nothing is acknowledged on this server: no majority has confirmed
	// that it may continue alone, or [Options].Strict forbids it.
	Waits bool
}

func (s Short) String() string {
	text := fmt.Sprintf("server %s has %d of %d replicas since %s", s.Server, s.Have, s.Want, s.Since.Format(time.TimeOnly))
	switch {
	case s.Waits:
		return text + ": writes are not acknowledged until they are back"
	case s.Have == 0:
		return text + ": what is acknowledged is on its disk alone, and lost with it, or if a replica is promoted that was away"
	}
	return text + ": what is acknowledged is on these alone, and lost if a replica is promoted that was away"
}

// DegradedError is part of [Store.Health] while servers have fewer replicas than mode
// [Replicated] promises. Work continues there with the remaining replicas, except where Waits
// is true.
type DegradedError struct{ Servers []Short } // by address

// Error states, for every server, what a crash would cost now.
func (e *DegradedError) Error() string {
	var all []string
	for _, s := range e.Servers {
		all = append(all, s.String())
	}
	return strings.Join(all, "; ")
}

// Reason is empty while work is accepted.
func (e *DegradedError) Reason() string {
	for _, s := range e.Servers {
		if s.Waits {
			return fmt.Sprintf("the store acknowledges nothing: a server has %d of %d replicas", s.Have, s.Want)
		}
	}
	return ""
}

// guard tracks how many replicas each primary needs. It checks the servers often while
// something is wrong, and seldom otherwise.
type guard struct {
	promised int
	strict   bool
	log      *slog.Logger
	look     func(context.Context) []sight

	woken chan struct{}

	mu     sync.Mutex
	judged map[string]judgement // by run id: an address may change its server
}

const (
	lookEvery = 250 * time.Millisecond // while something is wrong
	calmEvery = 5 * time.Second
	lookFor   = time.Second // until servers without an answer are left out
)

func newGuard(o Options, look func(context.Context) []sight) *guard {
	return &guard{promised: o.Replicas, strict: o.Strict, log: o.Logger, look: look, woken: make(chan struct{}, 1),
		judged: map[string]judgement{}}
}

// wake makes the guard check soon.
func (g *guard) wake() {
	select {
	case g.woken <- struct{}{}:
	default: // a check is due already
	}
}

// need returns how many replicas a write on a server needs now.
func (g *guard) need(runID string, now time.Time) int {
	if runID == "" { // unknown
		return g.promised
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.needs(g.judged[runID], now)
}

func (g *guard) needs(j judgement, now time.Time) int {
	if g.strict || j.until.IsZero() {
		return g.promised
	}
	return j.needs(g.promised, now)
}

// run checks until ctx ends.
func (g *guard) run(ctx context.Context) {
	for {
		pause := calmEvery
		if g.short() != nil {
			pause = lookEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery): // at most this often
		}
		select {
		case <-ctx.Done():
			return
		case <-g.woken:
		case <-time.After(pause - lookEvery):
		}
		g.judge(ctx, time.Now())
	}
}

// judge checks the servers once.
func (g *guard) judge(ctx context.Context, now time.Time) []sight {
	seen := g.look(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.judged
	g.judged = make(map[string]judgement, len(seen))
	for id, j := range before { // a server without an answer may answer soon
		if now.Before(j.until) {
			g.judged[id] = j
		}
	}
	for _, s := range seen {
		s.confirmed = s.confirmed && s.runID != "" // a write must be able to tell that it is on this server
		was, ok := before[s.runID]
		if !ok {
			was.need = g.promised
		}
		j := was.next(s, g.promised)
		g.judged[s.runID] = j
		g.tell(ctx, was, j)
	}
	return seen
}

// tell logs the changes of a server.
func (g *guard) tell(ctx context.Context, was, is judgement) {
	server, have, want := slog.String("server", is.address), slog.Int("replicas", is.have), slog.Int("promised", g.promised)
	switch {
	case is.since.IsZero() && !was.since.IsZero():
		g.log.LogAttrs(ctx, slog.LevelInfo, "the server has all of its replicas again", server, want)
	case !g.strict && is.need < was.need:
		g.log.LogAttrs(ctx, slog.LevelWarn, "the server goes on with fewer replicas than promised", server, have, want)
	case was.since.IsZero() && !is.since.IsZero():
		g.log.LogAttrs(ctx, slog.LevelWarn, "the server lacks replicas and waits for them", server, have, want)
	}
}

// short returns a *DegradedError, or nil.
func (g *guard) short() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	var e DegradedError
	for _, j := range g.judged {
		if !j.since.IsZero() {
			e.Servers = append(e.Servers, Short{j.address, j.have, g.promised, j.since, g.needs(j, now) > j.have})
		}
	}
	if len(e.Servers) == 0 {
		return nil
	}
	slices.SortFunc(e.Servers, func(a, b Short) int { return cmp.Compare(a.Server, b.Server) })
	return &e
}
