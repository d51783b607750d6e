package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
)

// toldLua is a server whose clock and identity a test tells.
const toldLua = `
local told = redis.call('HMGET', 'told', 'now', 'run', 'began')
local now, run, began = tonumber(told[1]), told[2], tonumber(told[3])
`

// openTold opens a store whose scripts believe what the hash "told" says.
func openTold(t *testing.T, r *testenv.Server) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Addresses: []string{r.Addr}, Mode: Memory, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // never fails
	s.scripts.quotaScripts = newQuotaScripts(toldLua)
	return s
}

// TestTheScriptsKeepBooksAsThePackageDoes makes random calls of both, at the same moments.
func TestTheScriptsKeepBooksAsThePackageDoes(t *testing.T) {
	s := openTold(t, testenv.Redis(t))
	s.failsOver.Store(true)
	tables := 0
	rapid.Check(t, func(t *rapid.T) {
		tables++
		p := newPair(t, s, fmt.Sprint("r", tables))
		for range rapid.IntRange(10, 60).Draw(t, "calls") {
			p.step()
		}
	})
}

// pair is the same books, kept twice.
type pair struct {
	*rapid.T
	s       *Store
	limit   store.Limit
	table   *quota.Table
	now     int64 // microseconds
	run     int
	longest time.Duration // ttl so far
	epoch   uint64
	targets map[string]int64
	held    map[string]int64
}

func newPair(t *rapid.T, s *Store, resource string) *pair {
	p := &pair{
		T: t, s: s, now: 1_700_000_000_000_000, epoch: 1 << 63, held: map[string]int64{},
		limit: store.Limit{
			Resource: resource,
			Units:    rapid.Int64Range(1, 100).Draw(t, "limit"),
			Window:   time.Duration(rapid.SampledFrom([]int{0, 20, 1000, 3600_000}).Draw(t, "window")) * time.Millisecond,
		},
	}
	p.table = quota.New(p.limit)
	p.tell()
	return p
}

// tell sets the scripts' clock. The server is old enough to know everything.
func (p *pair) tell() {
	set := p.s.client.B().Hset().Key("told").FieldValue().
		FieldValue("now", signed(p.now)).FieldValue("run", fmt.Sprint("run", p.run)).FieldValue("began", "0").Build()
	if err := p.s.client.Do(p.Context(), set).Error(); err != nil {
		p.Fatalf("told: %v", err)
	}
}

func (p *pair) step() {
	p.now += rapid.Int64Range(0, 60_000).Draw(p.T, "µs")
	p.tell()
	switch rapid.SampledFrom([]string{"hold", "hold", "hold", "draw", "draw", "draw", "targets", "units", "holdings", "failover"}).Draw(p.T, "call") {
	case "hold":
		p.hold(time.Duration(rapid.SampledFrom([]int{0, 1, 50, 300}).Draw(p.T, "ttl")) * time.Millisecond)
	case "draw":
		p.draw()
	case "targets":
		p.setTargets()
	case "units":
		p.limit.Units = rapid.Int64Range(1, 100).Draw(p.T, "limit")
		p.table.SetUnits(p.limit.Units)
	case "holdings":
		p.holdings()
	case "failover":
		if p.longest > 0 && rapid.IntRange(0, 3).Draw(p.T, "really") == 0 {
			p.failover()
		}
	}
}

func (p *pair) hold(ttl time.Duration) {
	node := rapid.SampledFrom([]string{"a", "b", "c d"}).Draw(p.T, "node")
	most := p.limit.Units
	h := store.Holding{
		Node: node, Held: p.held[node],
		Used:   rapid.Int64Range(-1, most).Draw(p.T, "used"),
		Want:   rapid.Int64Range(0, 2*most).Draw(p.T, "want"),
		Weight: rapid.Int64().Draw(p.T, "weight"), Drawn: rapid.Int64Range(0, most).Draw(p.T, "drawn"),
	}
	p.longest = max(p.longest, ttl)
	want := p.table.Hold(p.now*1000, h, ttl)
	got, err := p.s.Hold(p.Context(), p.limit, h, ttl)
	if err != nil || got != want {
		p.Fatalf("Hold(%+v, %v) = %d, %v; want %d", h, ttl, got, err, want)
	}
	p.held[node] = got
}

func (p *pair) draw() {
	units := rapid.Int64Range(0, p.limit.Units+1).Draw(p.T, "units")
	after, ok := p.table.Draw(p.now*1000, units)
	gotAfter, gotOK, err := p.s.Draw(p.Context(), p.limit, units)
	if err != nil || gotOK != ok || gotAfter != after {
		p.Fatalf("Draw(%d) = %v, %v, %v; want %v, %v", units, gotAfter, gotOK, err, after, ok)
	}
}

func (p *pair) setTargets() {
	epoch := p.epoch + uint64(rapid.IntRange(-1, 1).Draw(p.T, "epoch"))
	targets := map[string]int64{}
	for _, node := range []string{"a", "b", "c d"} {
		if n := rapid.Int64Range(-1, p.limit.Units+1).Draw(p.T, "target"); n != 0 {
			targets[node] = n
		}
	}
	want := p.table.SetTargets(epoch, targets)
	if err := p.s.SetTargets(p.Context(), p.limit, epoch, targets); !errors.Is(err, want) {
		p.Fatalf("SetTargets(%d) = %v, want %v", epoch, err, want)
	}
	if want == nil {
		p.epoch, p.targets = epoch, targets
	}
}

func (p *pair) holdings() {
	want := p.table.Holdings(p.now * 1000)
	if got, err := p.s.Holdings(p.Context(), p.limit); err != nil || !slices.Equal(got, want) {
		p.Fatalf("Holdings = %+v, %v; want %+v", got, err, want)
	}
}

// failover is another server with the same data. It learns from its first call on.
func (p *pair) failover() {
	p.run++
	p.tell()
	p.table = quota.New(p.limit)
	p.table.Learn(p.now*1000 + int64(max(p.longest, store.DrawAhead+store.DrawFor)+p.limit.Window))
	if p.targets != nil {
		if err := p.table.SetTargets(p.epoch, p.targets); err != nil {
			p.Fatalf("SetTargets = %v", err)
		}
	}
	p.hold(0)
}

func TestAServerThatMayHaveForgottenGivesNothingNew(t *testing.T) {
	without := openTold(t, testenv.Redis(t, "appendonly", "no"))
	const second = 1_000_000
	for i, tt := range []struct {
		name         string
		before       bool // there are books, by another server
		alone        bool // the server has no replicas
		age, passed  int  // of the server, in seconds
		drawn, given bool // whether a permit is drawn first, and given
		quota        int64
	}{
		{name: "an old server without books has forgotten nothing", age: 100, quota: 90, drawn: true, given: true},
		{name: "a young server without books may have", age: 2, quota: 7},
		{name: "a young server gives nothing until nodes have been silent", age: 1, passed: 1, quota: 7},
		{name: "and then it does", age: 1, passed: 3, quota: 90},
		{name: "a permit of a young server has to wait for what nodes might hold", age: 10, drawn: true, quota: 90},
		{name: "and not for ever", age: 11, drawn: true, given: true, quota: 90},
		{name: "an old server with another's books may have", before: true, age: 100, quota: 7},
		{name: "an old server with another's books gives nothing until nodes have been silent", before: true, age: 100, passed: 2, quota: 7},
		{name: "and then gives again", before: true, age: 100, passed: 3, quota: 90},
		{name: "permits wait as well", before: true, age: 100, drawn: true, quota: 7},
		{name: "a server that is alone lost what it lost before it started", alone: true, before: true, age: 100, drawn: true, given: true, quota: 90},
		{name: "and is waited for if that was not long ago", alone: true, before: true, age: 2, drawn: true, quota: 7},
		{name: "and not for longer than nodes may be silent", alone: true, before: true, age: 2, passed: 2, quota: 90},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := without
			s.failsOver.Store(!tt.alone)
			now := 1_700_000_000 * second
			tell := func(run string, now, began int) {
				set := s.client.B().Hset().Key("told").FieldValue().
					FieldValue("now", fmt.Sprint(now)).FieldValue("run", run).FieldValue("began", fmt.Sprint(began)).Build()
				if err := s.client.Do(t.Context(), set).Error(); err != nil {
					t.Fatal(err)
				}
			}
			l := store.Limit{Resource: fmt.Sprint("r", i), Units: 100, Window: time.Second}
			hold := func(held int64) int64 {
				got, err := s.Hold(t.Context(), l, store.Holding{Node: "a", Held: held}, 2*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			if err := s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 90}); err != nil {
				t.Fatal(err)
			}
			if tt.before {
				tell("first", now, 0)
				hold(0)
			}
			tell("second", now, now-tt.age*second)
			if tt.drawn {
				if _, ok, err := s.Draw(t.Context(), l, 10); ok != tt.given || err != nil {
					t.Errorf("Draw() = %v, %v; want %v", ok, err, tt.given)
				}
			}
			if tt.passed > 0 {
				hold(7)
				tell("second", now+tt.passed*second, now-tt.age*second)
			}
			if got := hold(7); got != tt.quota {
				t.Errorf("Hold() = %d, want %d", got, tt.quota)
			}
		})
	}
}

// A server that syncs its log with every write would have the books. If there are none, nothing was given away,
// unless its disk was emptied: then a node that holds something says so.
func TestAYoungServerThatKeepsItsDataGivesAtOnceUnlessANodeHoldsWhatItDoesNotKnow(t *testing.T) {
	const second = 1_000_000
	now := 1_700_000_000 * second
	l := store.Limit{Resource: "r", Units: 12}
	type call struct {
		after int // seconds
		node  string
		held  int64
		quota int64
	}
	for _, tt := range []struct {
		name  string
		mode  Mode
		calls []call
	}{
		{"a new store gives at once", Disk, []call{{0, "a", 0, 4}, {0, "b", 0, 4}, {1, "a", 4, 4}}},
		{"one with a log has none of a limit once it has noted it", Memory, []call{{0, "a", 0, 0}, {0, "a", 0, 4}, {1, "b", 0, 4}}},
		{"unless a node holds something", Memory, []call{{0, "a", 0, 0}, {0, "b", 5, 5}, {0, "a", 0, 0}, {8, "a", 0, 0}, {9, "a", 0, 4}}},
		{"a node holds something", Disk, []call{{0, "a", 5, 5}, {0, "b", 0, 0}, {8, "b", 0, 0}, {8, "a", 5, 5}, {9, "a", 5, 4}, {9, "b", 0, 4}}},
		{"a node that comes later holds something", Disk, []call{{0, "a", 0, 4}, {1, "b", 6, 6}, {2, "c", 0, 0}, {8, "a", 4, 4}, {8, "b", 6, 6}, {9, "c", 0, 2}}},
		{"calls that the books never bounded do not make an older server forget", Disk, []call{{0, "a", 0, 4}, {9, "b", 20, 4}, {9, "a", 4, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testenv.Redis(t, "appendonly", "yes", "appendfsync", "always")
			s := openTold(t, r)
			s.opts.Mode = tt.mode
			if err := s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 4, "b": 4, "c": 4}); err != nil {
				t.Fatal(err)
			}
			for _, c := range tt.calls {
				r.Do("HSET", "told", "now", fmt.Sprint(now+c.after*second), "run", "run", "began", fmt.Sprint(now-second))
				got, err := s.Hold(t.Context(), l, store.Holding{Node: c.node, Held: c.held}, 10*time.Second)
				if err != nil || got != c.quota {
					t.Errorf("after %d s, quota of %s, which holds %d = %d, %v; want %d", c.after, c.node, c.held, got, err, c.quota)
				}
			}
		})
	}
}

// The disk has every grant, unless it was put back from a copy. A copy is older than the end of the server's former life.
func TestAServerWithItsDiskGoesOnWithItsBooksUnlessTheyMayBeOld(t *testing.T) {
	const second = 1_000_000
	now := 1_700_000_000 * second
	l := store.Limit{Resource: "r", Units: 12}
	for _, tt := range []struct {
		name    string
		mode    Mode
		down    int // seconds from the last call to the start of the new life
		held, b int64
	}{
		{"just restarted", Disk, 1, 4, 4},
		{"the node holds more than the books know of", Disk, 1, 6, 0},
		{"a copy, or a long time without calls", Disk, 3, 4, 0},
		{"a log that is not synced with every call", Memory, 1, 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testenv.Redis(t, "appendonly", "yes", "appendfsync", "always")
			s := openTold(t, r)
			s.opts.Mode = tt.mode
			if err := s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 4, "b": 4, "c": 4}); err != nil {
				t.Fatal(err)
			}
			hold := func(run string, at, began int, node string, held int64) int64 {
				r.Do("HSET", "told", "now", fmt.Sprint(now+at*second), "run", run, "began", fmt.Sprint(now+began*second))
				got, err := s.Hold(t.Context(), l, store.Holding{Node: node, Held: held}, 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			hold("first", 0, -100, "a", 0)
			hold("second", tt.down, tt.down, "a", tt.held)
			if got := hold("second", tt.down, tt.down, "b", 0); got != tt.b {
				t.Errorf("quota of a second node on the restarted server = %d, want %d", got, tt.b)
			}
			hold("second", tt.down+8, tt.down, "a", tt.held)
			if got := hold("second", tt.down+10, tt.down, "b", 0); got != min(4, 12-tt.held) {
				t.Errorf("its quota when all have been silent for long enough = %d, want %d", got, min(4, 12-tt.held))
			}
		})
	}
}

func TestAHoldThatWasOvertakenChangesNothing(t *testing.T) {
	r := testenv.Redis(t)
	s, l := openTold(t, r), store.Limit{Resource: "r", Units: 100, Window: time.Second}
	told := s.client.B().Hset().Key("told").FieldValue().FieldValue("now", "9000000000").FieldValue("run", "x").FieldValue("began", "0").Build()
	if err := s.client.Do(t.Context(), told).Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Hold(t.Context(), l, store.Holding{Node: "a", Held: 50}, time.Second); err != nil {
		t.Fatal(err)
	}
	s.quotas.calls.Store(0) // the next call is numbered as if it had been made before
	if _, err := s.Hold(t.Context(), l, store.Holding{Node: "a", Held: 10}, time.Second); err != nil {
		t.Fatalf("Hold with the same number = %v", err)
	}
	s.quotas.calls.Store(5)
	if _, err := s.Hold(t.Context(), l, store.Holding{Node: "a", Held: 60}, time.Second); err != nil {
		t.Fatal(err)
	}
	s.quotas.calls.Store(3)
	if _, err := s.Hold(t.Context(), l, store.Holding{Node: "a", Held: 20}, time.Second); !errors.Is(err, errOvertaken) {
		t.Errorf("Hold behind a later one = %v, want errOvertaken", err)
	}
	if list, err := s.Holdings(t.Context(), l); err != nil || len(list) != 1 || list[0].Held != 60 {
		t.Errorf("Holdings() = %+v, %v; want 60 held", list, err)
	}
}

func TestKeysOfALimitShareAHashTagAndEnd(t *testing.T) {
	r := testenv.Redis(t)
	s := openTold(t, r)
	s.scripts = newScripts()
	for _, resource := range []string{"mail", "a}b{c", "}", "", "x:1s}:meta"} {
		l := store.Limit{Resource: resource, Units: 10, Window: time.Second}
		if err := s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 5}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Hold(t.Context(), l, store.Holding{Node: "a"}, time.Second); err != nil {
			t.Fatal(err)
		}
		slots := map[string]bool{}
		for _, k := range s.quotaKeys(l) {
			slots[strings.SplitN(strings.SplitN(k, "{", 2)[1], "}", 2)[0]] = true
			if ttl := r.Do("TTL", k); !strings.HasSuffix(k, "permits") && ttl != "86400" {
				t.Errorf("key %q ends in %s seconds, want a day", k, ttl)
			}
		}
		if len(slots) != 1 {
			t.Errorf("hash tags of %q = %v, want one", resource, slots)
		}
	}
}
