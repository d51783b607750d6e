//go:build unix

package fleettest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

func TestAServerThatIsKilledAndComesBackLosesNothing(t *testing.T) {
	t.Parallel()
	f, r := onRedis(t, fleettest.Config{})
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	r.Kill()
	while(time.Second)
	r.Restart()
	while(2 * time.Second)
	stop()
	v := f.Judge(patience)
	t.Logf("longest pauses: %v", v.Calls.Gaps()[:3])
}

// A server answers, and says that it cannot now, for longer than a lease.
func TestAServerThatCannotNowIsWaitedFor(t *testing.T) {
	for _, tt := range []struct {
		code  string
		begin func(t *testing.T, r *testenv.Server)
		end   func(r *testenv.Server)
	}{
		{
			"OOM", func(_ *testing.T, r *testenv.Server) { r.Do("CONFIG", "SET", "maxmemory", "1") },
			func(r *testenv.Server) { r.Do("CONFIG", "SET", "maxmemory", "0") },
		},
		{"MISCONF", failSave, func(r *testenv.Server) { r.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") }},
		{"LOADING", load, func(*testenv.Server) {}},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			f, r := onRedis(t, fleettest.Config{}, "save", "3600 1", "dbfilename", "appendonlydir",
				"enable-debug-command", "yes", "loading-process-events-interval-bytes", "1024")
			stop := f.Busy(8, 300)
			while(time.Second)
			cutAll(f)
			tt.begin(t, r)
			while(lease + 500*time.Millisecond)
			tt.end(r)
			until(t, "the server can again", patience, func() bool { _, err := r.Try("PING"); return err == nil })
			while(1500 * time.Millisecond)
			stop()
			v := f.Judge(patience)
			t.Logf("longest pauses: %v", v.Calls.Gaps()[:3])
		})
	}
}

// failSave has a snapshot fail: its file's name is that of a directory.
func failSave(t *testing.T, r *testenv.Server) {
	r.Do("BGSAVE")
	until(t, "the snapshot has failed", patience, func() bool {
		return strings.Contains(r.Do("INFO", "persistence"), "rdb_last_bgsave_status:err")
	})
}

// load has the server read its data again, slowly.
func load(t *testing.T, r *testenv.Server) {
	const keys, each = "3000", "800" // microseconds
	r.Do("DEBUG", "POPULATE", keys)
	r.Do("BGREWRITEAOF")
	until(t, "the log is rewritten", patience, func() bool {
		return strings.Contains(r.Do("INFO", "persistence"), "aof_rewrite_in_progress:0")
	})
	r.Do("CONFIG", "SET", "key-load-delay", each)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Try("DEBUG", "LOADAOF") // its answer may come too late
	}()
	t.Cleanup(func() { <-ended })
	until(t, "the server loads", patience, func() bool {
		_, err := r.Try("PING")
		return err != nil && strings.Contains(err.Error(), "LOADING")
	})
}

func TestAServerThatForgotEverythingWithinTheWindowIsToldAgain(t *testing.T) {
	t.Parallel()
	f, r := onRedis(t, fleettest.Config{})
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	r.Do("FLUSHALL")
	while(4 * time.Second)
	stop()
	v := f.Judge(patience)
	t.Logf("%v; longest pauses: %v", v, v.Calls.Gaps()[:3])
}

func TestAServerThatForgotMoreThanNodesRememberStopsTheWorkOpenly(t *testing.T) {
	t.Parallel()
	f, r := onRedis(t, fleettest.Config{})
	stop := f.Busy(8, 300)
	while(13 * time.Second) // nodes remember ten
	if text := told(f); text != "" {
		t.Fatalf("a node is ill before anything has happened: %s", text)
	}
	r.Do("FLUSHALL")
	took := until(t, "a node tells", lease+10*time.Second, func() bool { return told(f) != "" })
	t.Logf("told after %v: %s", ms(took), told(f))
	if text := told(f); !strings.Contains(text, "set back") {
		t.Errorf("health = %q, want it to say that the store was set back", text)
	}
	for i, n := range f.Nodes {
		until(t, "every node tells", patience, func() bool { return strings.Contains(n.Health(), "set back") })
		t.Logf("node %d: %s", i, n.Health())
	}
	stop()
	for _, n := range f.Nodes {
		n.Stop()
	}
	f.Nodes[0].Start() // it knows nothing but what the store says
	until(t, "a node that starts later tells", patience, func() bool { return strings.Contains(f.Nodes[0].Health(), "set back") })
	f.Nodes[0].Stop()
}

// told returns a problem that a node reports, if any does.
func told(f *fleettest.Fleet) string {
	for _, n := range f.Nodes {
		if text := n.Health(); text != "" {
			return text
		}
	}
	return ""
}

func TestASentinelFailoverLosesNothing(t *testing.T) {
	t.Parallel()
	set := testenv.NewSentinelSet(t)
	f := fleettest.New(t, fleettest.Config{Addresses: set.Addrs(), Primary: testenv.PrimaryName, Mode: redisstore.Memory, LeaseFor: lease})
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	set.Primary.Kill()
	took := until(t, "a replica has taken over", patience, func() bool {
		return isPrimary(set.Replicas[0]) || isPrimary(set.Replicas[1])
	})
	while(2500 * time.Millisecond)
	stop()
	v := f.Judge(patience)
	failedOver(t, v, took)
}

// isPrimary reports whether a server has been promoted. It may not answer just then.
func isPrimary(s *testenv.Server) bool {
	about, err := s.Try("INFO", "replication")
	return err == nil && strings.Contains(about, "role:master")
}

func failedOver(t *testing.T, v fleettest.Verdict, took time.Duration) {
	t.Helper()
	silence := v.Calls.Silence()
	t.Logf("failover took %v, longest silence %v", ms(took), ms(silence))
	if silence > took+lease+2*time.Second { // the leases may have run out meanwhile, and are asked for again
		t.Errorf("silence of %v, want at most a lease and 2s more than the failover", silence)
	}
}
