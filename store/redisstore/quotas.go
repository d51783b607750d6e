package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// The rules of quotas are those of package quota, implemented again in the scripts: they must
// run where the data is. A test compares the two.

// quotas holds what all calls about limits share.
type quotas struct {
	keys sync.Map // limitName -> []string, in the order of the scripts
	// A call that was given up may reach the server behind a later one, on an abandoned
	// connection, and must not undo the later call.
	client string
	calls  atomic.Uint64
}

// limitName identifies a limit: its units may change.
type limitName struct {
	resource string
	window   time.Duration
}

const (
	// askSoonest and askLatest bound when a refused Draw may be repeated.
	askSoonest, askLatest = 10 * time.Millisecond, 250 * time.Millisecond
	// assumedTTL is how long nodes are assumed to hold quotas on a server that was just started
	// without its data, until a node reports its own.
	assumedTTL = 10 * time.Second
)

// What is known of the servers, for the scripts. It decides when one that has just started, and
// may have forgotten what it granted, grants again: see lua/books.lua.
const (
	serverPromoted = "0" // it may be a promoted replica that lacks the newest grants
	serverAlone    = "1" // it has no replicas: what it has lost, it lost before it started
	serverKeeps    = "2" // and every grant was on its disk before it was answered
)

// errOvertaken is the error of a Hold that came behind a later one of the same node. Its caller
// has given it up.
var errOvertaken = errors.New("a later call of the node was here before")

// quotaKeys returns the names of a limit's keys: meta, nodes, targets, permits. All have the
// same hash tag, whatever the resource is called.
func (s *Store) quotaKeys(l store.Limit) []string {
	name := limitName{l.Resource, l.Window}
	if k, ok := s.quotas.keys.Load(name); ok {
		return k.([]string)
	}
	p := fmt.Sprintf("weir:{%s:q:%s:%v}:", s.opts.Stage, l.Resource, l.Window)
	k, _ := s.quotas.keys.LoadOrStore(name, []string{p + "meta", p + "nodes", p + "targets", p + "permits"})
	return k.([]string)
}

// bookArguments returns the first arguments of a script that uses a quota table.
func (s *Store) bookArguments(l store.Limit, ttl time.Duration) []string {
	grain, server := max(time.Millisecond, l.Window/256), serverAlone
	switch {
	case s.mayFailOver(): // a promoted replica may lack the newest table
		server = serverPromoted
	case s.Durability() == Disk.String():
		server = serverKeeps
	}
	return append(make([]string, 0, 16), signed(l.Units), micros(l.Window), micros(l.Window+store.DrawFor),
		micros(grain), micros(ttl), micros(assumedTTL), micros(store.DrawAhead), server)
}

// Hold records a node's report and returns its quota. The server's clock decides.
func (s *Store) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	args := append(s.bookArguments(l, max(ttl, 0)), h.Node, s.quotas.client, decimal(s.quotas.calls.Add(1)),
		signed(max(h.Held, 0)), signed(max(h.Used, 0)), signed(h.Want), signed(h.Weight), signed(h.Drawn))
	quota, err := s.exec(ctx, s.scripts.hold, s.quotaKeys(l), args...).AsInt64()
	if rueidis.IsRedisNil(err) {
		err = errOvertaken
	}
	return quota, s.failed(ctx, "hold "+l.Resource, store.Control, err)
}

// Draw takes units that no node holds. The server's clock decides.
func (s *Store) Draw(ctx context.Context, l store.Limit, units int64) (after time.Duration, ok bool, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, false, err
	}
	switch {
	case l.Window == 0 || units > l.Units:
		return askLatest, false, nil
	case units <= 0:
		return 0, true, nil
	}
	answer, err := s.exec(ctx, s.scripts.draw, s.quotaKeys(l), append(s.bookArguments(l, 0), signed(units))...).AsIntSlice()
	switch {
	case err != nil:
		return 0, false, s.failed(ctx, "draw "+l.Resource, store.Control, err)
	case answer[0] == 1:
		return time.Duration(answer[1]) * time.Microsecond, true, nil
	case answer[1] < 0:
		return askLatest, false, nil
	}
	return min(max(time.Duration(answer[1])*time.Microsecond, askSoonest), askLatest), false, nil
}

// Holdings returns the last reports of the nodes. The server's clock decides which nodes have
// been silent for too long.
func (s *Store) Holdings(ctx context.Context, l store.Limit) ([]store.Holding, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	live, err := s.exec(ctx, s.scripts.holdings, s.quotaKeys(l)[1:2]).AsStrSlice()
	if err != nil {
		return nil, s.failed(ctx, "list holdings of "+l.Resource, store.Control, err)
	}
	var list []store.Holding
	for f := range slices.Chunk(live, 6) {
		var n [5]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
				return nil, fmt.Errorf("holding of %s, node %s: %w: %w", l.Resource, f[0], store.ErrCorrupt, err)
			}
		}
		list = append(list, store.Holding{Node: f[0], Held: n[0], Used: n[1], Want: n[2], Weight: n[3], Drawn: n[4]})
	}
	slices.SortFunc(list, func(a, b store.Holding) int { return cmp.Compare(a.Node, b.Node) })
	return list, nil
}

// SetTargets sets the quotas that nodes should get.
func (s *Store) SetTargets(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	args := append(make([]string, 0, 1+2*len(targets)), decimal(epoch))
	for node, target := range targets {
		args = append(args, node, signed(max(target, 0)))
	}
	k := s.quotaKeys(l)
	set, err := s.exec(ctx, s.scripts.targets, []string{k[0], k[2]}, args...).AsInt64()
	switch {
	case err != nil:
		return s.failed(ctx, "set targets of "+l.Resource, store.Control, err)
	case set == 0:
		return store.ErrStale
	}
	return nil
}

func signed(n int64) string { return strconv.FormatInt(n, 10) }

// micros rounds up: it is safe to count for longer.
func micros(d time.Duration) string {
	return signed(int64((d + time.Microsecond - 1) / time.Microsecond))
}
