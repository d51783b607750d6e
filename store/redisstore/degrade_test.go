package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// TestAFailoverInModeReplicated kills a primary under load. All that was
// acknowledged is there afterwards, the work goes on soon after the servers have a
// new primary, and says that it has fewer replicas until the old one is back.
func TestAFailoverInModeReplicated(t *testing.T) {
	t.Parallel() // most of it is waiting
	t.Run("of a Cluster", func(t *testing.T) {
		t.Parallel()
		c := testenv.NewCluster(t, "appendfsync", "always")
		degrade(t, redisstore.Options{Addresses: c.Addrs(), Replicas: 1}, c.Primaries[0], func() *testenv.Server { return promoted(c) })
	})
	t.Run("of a Sentinel set", func(t *testing.T) {
		t.Parallel()
		s := testenv.NewSentinelSet(t, "appendfsync", "always")
		degrade(t, redisstore.Options{Addresses: s.Addrs(), Primary: testenv.PrimaryName, Replicas: 2}, s.Primary, func() *testenv.Server { return named(s) })
	})
}

// promoted is the replica of the first primary, once the Cluster has it in the primary's place.
func promoted(c *testenv.Cluster) *testenv.Server {
	r := c.Replicas[0]
	if text, err := r.Try("CLUSTER", "INFO"); err == nil && strings.Contains(text, "cluster_state:ok") && is(r, "role:master") {
		return r
	}
	return nil
}

// named is the primary that most Sentinels name, if it is not the first one.
func named(set *testenv.SentinelSet) *testenv.Server {
	votes := map[string]int{}
	for _, s := range set.Sentinels {
		if address, err := s.Try("SENTINEL", "GET-MASTER-ADDR-BY-NAME", testenv.PrimaryName); err == nil {
			votes[address]++
		}
	}
	for _, r := range set.Replicas {
		if votes["["+strings.Replace(r.Addr, ":", " ", 1)+"]"] > 1 {
			return r
		}
	}
	return nil
}

// is reports whether a server says so of its replication.
func is(s *testenv.Server, what string) bool {
	text, err := s.Try("INFO", "replication")
	return err == nil && strings.Contains(text, what)
}

// degrade has a failover under load; promote returns the new primary when there is one.
func degrade(t *testing.T, o redisstore.Options, primary *testenv.Server, promote func() *testenv.Server) {
	t.Helper()
	var said lines
	o.Mode, o.Logger = redisstore.Replicated, slog.New(slog.NewTextHandler(&said, nil))
	s, err := redisstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o.Strict, o.Stage, o.Logger = true, "strict", slog.New(slog.DiscardHandler)
	strict, err := redisstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()

	l := newLoad(t, s)
	l.waitFor(t, time.Now(), 5)
	primary.Kill()
	killed := time.Now()
	var next *testenv.Server
	until(t, "the servers have a new primary", func() bool { next = promote(); return next != nil })
	own := time.Since(killed)
	took := l.waitFor(t, killed.Add(own), 1).Sub(killed)
	t.Logf("the servers needed %v, all partitions took commits again after %v", own.Round(time.Millisecond), took.Round(time.Millisecond))
	if took-own > late(own) {
		t.Errorf("unavailable for %v, the servers for %v", took, own)
	}
	wantShort(t, s, promote, o.Replicas-1, o.Replicas, false)
	wantStall(t, strict, promote, o.Replicas)
	o.Stage = "late"
	wantRefusal(t, o, "replicas are connected, ")
	o.Strict = false
	wantDegraded(t, o)
	o.Replicas++
	wantRefusal(t, o, "replicas are connected, ")

	primary.Restart()
	first := next
	until(t, "the servers have a primary", func() bool { next = promote(); return next != nil })
	if o.Primary != "" { // the Sentinels do that, too, after ten seconds
		primary.Do(append([]string{"REPLICAOF"}, strings.Split(next.Addr, ":")...)...)
	}
	until(t, "the replica that is back ends it", func() bool { return s.Health() == nil && strict.Health() == nil })
	l.waitFor(t, time.Now(), 2)
	l.stop(t)
	l.verify(t)
	for _, text := range []string{"the server goes on with fewer replicas than promised", "the server has all of its replicas again"} {
		if n := said.count(text); n != 1 && (next == first || n == 0) { // for each primary
			t.Errorf("%q was logged %d times, want once", text, n)
		}
	}
	primary.Freeze() // it is a replica now
	defer primary.Thaw()
	lagging := false
	for p := 0; p < partitions && !lagging; p++ { // one of them is on its primary
		lagging = errors.Is(l.commit(p), store.ErrUnknown)
	}
	if !lagging {
		t.Error("all commits were acknowledged with a replica that stands still, though the degradation has ended")
	}
}

// always is a primary that does not change.
func always(s *testenv.Server) func() *testenv.Server { return func() *testenv.Server { return s } }

// wantShort waits until the store says that the primary lacks replicas. On a busy
// machine the servers may change their minds about who that is.
func wantShort(t *testing.T, s *redisstore.Store, primary func() *testenv.Server, have, want int, waits bool) {
	t.Helper()
	wanted := redisstore.Short{Have: have, Want: want, Waits: waits}
	defer func() {
		if t.Failed() {
			t.Logf("Health() = %v", s.Health())
		}
	}()
	until(t, fmt.Sprintf("Health() has %+v", wanted), func() bool {
		var e *redisstore.DegradedError
		if !errors.As(s.Health(), &e) || len(e.Servers) != 1 {
			return false
		}
		server := primary()
		if server == nil {
			return false
		}
		wanted.Server, wanted.Since = server.Addr, e.Servers[0].Since
		return e.Servers[0] == wanted && !wanted.Since.IsZero()
	})
}

// wantDegraded wants a store to open though a replica is away that the servers know.
func wantDegraded(t *testing.T, o redisstore.Options) {
	t.Helper()
	var e *redisstore.DegradedError
	s := open(t, o)
	defer s.Close()
	if err := s.Health(); !errors.As(err, &e) {
		t.Errorf("Health() = %v on servers that lack a replica, want a *DegradedError", err)
	}
}

// wantStall wants a strict store to acknowledge nothing on a server that lacks replicas.
func wantStall(t *testing.T, s *redisstore.Store, primary func() *testenv.Server, want int) {
	t.Helper()
	wantShort(t, s, primary, want-1, want, true)
	lagging := 0
	for p := range partitions {
		tok, err := s.Acquire(t.Context(), p, "a", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var lag *redisstore.LagError
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		if errors.As(s.Commit(ctx, p, tok, &store.Batch{Number: 1}), &lag) {
			lagging++
			cancel()
			break
		}
		cancel()
	}
	if lagging == 0 {
		t.Error("a strict store acknowledged everything though a server lacks a replica")
	}
}

func TestAPrimaryThatIsCutOffAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	t.Run("in a Cluster", func(t *testing.T) {
		t.Parallel()
		c := testenv.NewCluster(t, "appendfsync", "always", "cluster-node-timeout", "3000")
		l := newLoad(t, open(t, redisstore.Options{Addresses: c.Addrs(), Mode: redisstore.Replicated, Replicas: 1}))
		defer l.store.Close()
		l.waitFor(t, time.Now(), 1)
		for i := range c.Primaries[1:] { // those who could confirm it, and those who could take over for them
			c.Primaries[i+1].Freeze()
			c.Replicas[i+1].Freeze()
		}
		c.Replicas[0].Kill()
		until(t, "the primary has no replica", func() bool { return is(c.Primaries[0], "connected_slaves:0") })
		cut := time.Now()
		until(t, "it takes no more writes", func() bool {
			return strings.Contains(c.Primaries[0].Do("CLUSTER", "INFO"), "cluster_state:fail")
		})
		l.stop(t)
		if n := l.acknowledgedSince(cut); n != 0 {
			t.Errorf("%d commits were acknowledged by a primary that is cut off", n)
		}
	})
	t.Run("with Sentinels", func(t *testing.T) {
		t.Parallel()
		set := testenv.NewSentinelSet(t, "appendfsync", "always")
		l := newLoad(t, open(t, redisstore.Options{Addresses: set.Addrs(), Primary: testenv.PrimaryName, Mode: redisstore.Replicated, Replicas: 2}))
		defer l.store.Close()
		l.waitFor(t, time.Now(), 1)
		set.Sentinels[1].Kill()
		set.Sentinels[2].Kill()
		set.Replicas[0].Kill()
		set.Replicas[1].Kill()
		until(t, "the primary has no replica", func() bool { return is(set.Primary, "connected_slaves:0") })
		cut := time.Now()
		wantShort(t, l.store, always(set.Primary), 0, 2, true)
		until(t, "commits have been refused", func() bool { return l.refusedSince(cut) > len(l.tokens) })
		if n := l.acknowledgedSince(cut); n != 0 {
			t.Errorf("%d commits were acknowledged by a primary that most Sentinels could not confirm", n)
		}
		set.Sentinels[1].Restart()
		set.Sentinels[2].Restart()
		l.waitFor(t, time.Now(), 1)
		l.stop(t)
		wantShort(t, l.store, always(set.Primary), 0, 2, false)
	})
}

const partitions = 6

// load commits to some partitions all the time.
type load struct {
	store  *redisstore.Store
	tokens [partitions]store.Token
	end    context.CancelFunc
	ctx    context.Context
	done   sync.WaitGroup

	mu      sync.Mutex
	acked   [partitions][]time.Time // of commit 1, 2, ...
	refused []time.Time
	last    [partitions]error
}

func newLoad(t *testing.T, s *redisstore.Store) *load {
	t.Helper()
	l := &load{store: s}
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { l.end(); l.done.Wait() })
	for p := range l.tokens {
		var err error
		if l.tokens[p], err = s.Acquire(t.Context(), p, "a", time.Hour); err != nil {
			t.Fatal(err)
		}
		l.done.Go(func() { l.run(t, p) })
	}
	return l
}

func (l *load) run(t *testing.T, p int) {
	for ; l.ctx.Err() == nil; <-time.After(5 * time.Millisecond) { // the disk is others', too
		err := l.commit(p)
		if errors.Is(err, store.ErrFenced) || err != nil && l.ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Commit to partition %d = %v, want it done or ErrUnavailable", p, err)
			return
		}
	}
}

// commit makes the next commit of a partition, or the same again.
func (l *load) commit(p int) error {
	ctx, cancel := context.WithTimeout(l.ctx, 5*time.Second)
	defer cancel()
	if l.ctx.Err() != nil { // after stop
		ctx, cancel = context.WithTimeout(context.WithoutCancel(l.ctx), 5*time.Second)
		defer cancel()
	}
	l.mu.Lock()
	number := uint64(len(l.acked[p]) + 1)
	l.mu.Unlock()
	err := l.store.Commit(ctx, p, l.tokens[p], &store.Batch{Number: number, Set: rows(fmt.Sprintf("k%08d", number), "v")})
	var order *store.NumberError
	if errors.As(err, &order) && order.Want == number+1 {
		err = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[p] = err
	if err == nil {
		l.acked[p] = append(l.acked[p], time.Now())
	} else {
		l.refused = append(l.refused, time.Now())
	}
	return err
}

// waitFor waits until every partition has n more commits after a moment, and returns when that was.
func (l *load) waitFor(t *testing.T, since time.Time, n int) (last time.Time) {
	t.Helper()
	defer func() {
		if t.Failed() {
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Logf("last answers: %v; health: %v", l.last, l.store.Health())
		}
	}()
	for p := range l.acked {
		until(t, "partition "+fmt.Sprint(p)+" takes commits", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			after := len(l.acked[p])
			for after > 0 && l.acked[p][after-1].After(since) {
				after--
			}
			if len(l.acked[p]) < after+n {
				return false
			}
			if at := l.acked[p][after+n-1]; at.After(last) {
				last = at
			}
			return true
		})
	}
	return last
}

func (l *load) acknowledgedSince(at time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.acked {
		n += after(l.acked[p], at)
	}
	return n
}

func (l *load) refusedSince(at time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return after(l.refused, at)
}

func after(times []time.Time, at time.Time) (n int) {
	for _, x := range times {
		if x.After(at) {
			n++
		}
	}
	return n
}

// stop ends the load.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.end()
	l.done.Wait()
}

// verify wants everything that was acknowledged to be there.
func (l *load) verify(t *testing.T) {
	t.Helper()
	total := 0
	for p := range l.acked {
		there := map[string]bool{}
		if err := l.store.Scan(t.Context(), p, nil, func(k, _ []byte) error { there[string(k)] = true; return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range l.acked[p] {
			if key := fmt.Sprintf("k%08d", i+1); !there[key] {
				t.Errorf("partition %d has lost commit %d, which was acknowledged", p, i+1)
			}
		}
		total += len(l.acked[p])
	}
	t.Logf("%d acknowledged commits are all there", total)
}

// lines is a log that can be searched.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}
