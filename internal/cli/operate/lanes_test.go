package operate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/store/redisstore"
)

// noon is when the boards of these tests are looked at.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func lane(partition int, resource string) weir.LaneID {
	return weir.LaneID{Partition: partition, Resource: resource}
}

// sampleBoard has a lane under load, one that is cut off, one with nothing to do,
// one that is pinned and one that nobody runs.
func sampleBoard() *board {
	s := weir.Scaling{Policy: "littles-law", Pins: map[weir.LaneID]weir.Pin{lane(7, "award"): {Workers: 4, Until: noon.Add(time.Hour), Why: "sale"}}}
	before := []weir.Node{{Name: "a", At: noon.Add(-2 * time.Second), Slots: 64, Lanes: []weir.Lane{
		{ID: lane(3, "send"), Arrived: 1000, Ended: 1000},
		{ID: lane(9, "push"), Ended: 10},
	}}}
	held := []weir.ResourceUse{{Name: "push", Text: "every call fails."}, {Name: "send"}}
	now := []weir.Node{{Name: "b", CPU: 0.91, Memory: 0.4, Resources: held}, {Name: "a", At: noon.Add(-time.Second), Slots: 64, Resources: held, Lanes: []weir.Lane{
		{ID: lane(9, "push"), Workers: 2, Chunk: 100, Ready: 4_487_000, Oldest: 18 * time.Minute, Closed: true, Ended: 30, Failed: 5},
		{ID: lane(3, "send"), Workers: 5, Chunk: 10, Ready: 81_195, InFlight: 5, Wait99: 310 * time.Millisecond, Oldest: 12400 * time.Millisecond, QuotaUse: 0.994, Arrived: 1103, Ended: 1099, Failed: 3},
		{ID: lane(7, "award"), Workers: 4, Chunk: 1},
	}}}
	grew := &weir.Decision{
		Lane: lane(3, "send"), At: noon.Add(-3 * time.Second), Policy: "littles-law", From: 5, To: 8, Reason: "grew",
		Text: "grew from 5 to 8: the load needs 8.2, 8120 tasks wait.", Inputs: weir.DecisionInputs{Need: 8.2, Useful: 8.9},
	}
	old := &weir.Decision{Lane: lane(1, "send"), At: noon.Add(-3 * time.Hour), Policy: "depth", From: 9, To: 3, Text: "released from 9 to 3."}
	shadow := &weir.Decision{Lane: lane(3, "send"), At: noon, Policy: "depth", Shadow: true, To: 16}
	decided := map[weir.LaneID]newestOf{grew.Lane: {grew, shadow, 8.2, 8.9}, old.Lane: {acting: old}, lane(2, "send"): {shadow: shadow}}
	first, b := &board{Scaling: s}, &board{At: noon, Partitions: 12, Scaling: s}
	first.fill(before, nil)
	b.fill(now, decided)
	b.compare(first)
	return b
}

func TestTheTableOfLanes(t *testing.T) {
	const want = `
  12 partitions · 4 lanes · 2 nodes · 14 workers · scaling by littles-law · 1 pin
  b  CPU 91% and memory 40% in use: its lanes do not grow.
  push  every call fails. (b) (and 1 more node)
LANE        READY    PWQD  IN/S  OUT/S  IN FLIGHT  WORKERS  NEED  USEFUL  WAIT P99  OLDEST  ERRORS   QUOTA  LAST DECISION
p01/send        —       —     —      —          —        3     —       —         —       —       —       —  3h ago: released from 9 to 3.
p03/send    8,120   1,624   103     99          5    5 → 8   8.2     8.9     310ms     12s      3%     99%  3s ago: grew from 5 to 8: the load needs 8.2, 8120 tasks wait. (shadow depth: 16)
p07/award       0       0     —      —          0    4 pin     —       —         0       0       —       —
p09/push   44,870  22,435     0     20          0        2     —       —         0   18m0s     25%  closed
`
	b := sampleBoard()
	got := "\n" + strings.Join(slices.Concat([]string{b.headline(false)}, b.troubles(false), b.lines(false, 0)), "\n") + "\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestANarrowTerminalHasDecisionsBelowTheirLanes(t *testing.T) {
	for _, l := range sampleBoard().lines(true, 140)[:3] {
		if w := term.Width(l); w > 140 {
			t.Errorf("%d wide: %q", w, l)
		}
	}
	if l := sampleBoard().lines(false, 140)[2]; l != "    3h ago: released from 9 to 3." {
		t.Errorf("below the first lane: %q", l)
	}
}

func TestWhatWorriesIsColoured(t *testing.T) {
	all := strings.Join(sampleBoard().lines(true, 0), "\n")
	for _, want := range []string{"\x1b[31mclosed\x1b[0m", "\x1b[31m25%\x1b[0m", "\x1b[33m pin\x1b[0m"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%q", want, all)
		}
	}
	stuck := laneState{Lane: weir.Lane{Ready: 1}, Node: "a"}
	if got := stuck.workers(true, noon); got != "\x1b[31m0\x1b[0m" {
		t.Errorf("no workers for a ready item: %q, want red", got)
	}
}

func TestRatesNeedTwoLooksOfTheSameOwner(t *testing.T) {
	at := func(seconds int, node string, arrived float64, ended int64) *board {
		b := &board{}
		b.fill([]weir.Node{{Name: node, At: noon.Add(time.Duration(seconds) * time.Second), Lanes: []weir.Lane{
			{ID: lane(0, "x"), Arrived: arrived, Ended: ended},
		}}}, nil)
		return b
	}
	for _, tt := range []struct {
		name        string
		before, now *board
		in, out     string
	}{
		{"over two seconds", at(0, "a", 10, 10), at(2, "a", 30, 20), "10", "5.0"},
		{"not over a change of owner", at(0, "a", 10, 10), at(2, "b", 30, 20), term.Unknown, term.Unknown},
		{"not over a start from 0", at(0, "a", 10, 10), at(2, "a", 3, 2), term.Unknown, term.Unknown},
		{"not before the node has looked again", at(0, "a", 10, 10), at(0, "a", 10, 10), term.Unknown, term.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.now.compare(tt.before)
			if l := tt.now.Lanes[0]; term.Figure(l.In) != tt.in || term.Figure(l.Out) != tt.out {
				t.Errorf("in, out = %s, %s; want %s, %s", term.Figure(l.In), term.Figure(l.Out), tt.in, tt.out)
			}
		})
	}
	once, again := at(2, "a", 30, 20), at(2, "a", 30, 20)
	once.compare(at(0, "a", 10, 10))
	again.compare(once)
	if l := again.Lanes[0]; term.Figure(l.In) != "10" {
		t.Errorf("a look at the same second forgets the rate: %s, want 10", term.Figure(l.In))
	}
}

func TestOfTwoOwnersTheLaterOneIsShown(t *testing.T) {
	b := &board{}
	one := func(node string, at time.Time, workers int) weir.Node {
		return weir.Node{Name: node, At: at, Lanes: []weir.Lane{{ID: lane(0, "x"), Workers: workers}}}
	}
	b.fill([]weir.Node{one("new", noon, 7), one("old", noon.Add(-time.Second), 3)}, nil)
	if len(b.Lanes) != 1 || b.Lanes[0].Node != "new" || b.Lanes[0].Workers != 7 {
		t.Errorf("lanes: %+v, want one, of the newer owner", b.Lanes)
	}
}

func TestADecisionIsToldWithItsInputs(t *testing.T) {
	d := &weir.Decision{
		Lane: lane(3, "send"), At: noon, Policy: "littles-law", From: 5, To: 8, Reason: "grew", Text: "grew from 5 to 8: the load needs 8.2.",
		Inputs: weir.DecisionInputs{
			Workers: 5, Arrivals: 103, Backlog: 8120, InFlight: 5, Usable: 100, Service: 64 * time.Millisecond, Ended: 99, Failed: 1,
			SlotWait: 300 * time.Millisecond, Busy: 0.98, CPU: 0.41, Memory: 0.2, Strained: true, Floor: 3, Need: 8.2, Useful: 8.9,
		},
	}
	want := []string{
		"2026-11-15 12:00:00Z  5 → 8      grew          grew from 5 to 8: the load needs 8.2.",
		"  workers 5 · arrivals 103/s · backlog 8,120 · in flight 5 · busy 98% · service 64ms · slot wait 300ms · usable 100/s · ended 99 · failed 1 · cpu 41% · memory 20% · strained · floor 3 · need 8.2 · useful 8.9",
	}
	if diff := cmp.Diff(want, decisionLines(false, d)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	d.To, d.Shadow, d.Policy = 5, true, "depth"
	if got := decisionLines(false, d)[0]; got != "2026-11-15 12:00:00Z  at 5       grew          shadow depth  "+d.Text {
		t.Errorf("of a shadow that holds: %q", got)
	}
}

func TestTheAddressOfARedis(t *testing.T) {
	for _, tt := range []struct {
		name, address string
		want          redisstore.Options // of which Mode and TLS are looked at elsewhere
		fails         string
	}{
		{"host alone", "redis://host", redisstore.Options{Addresses: []string{"host:6379"}}, ""},
		{"host and port", "redis://[::1]:7000/0", redisstore.Options{Addresses: []string{"[::1]:7000"}}, ""},
		{"a user", "redis://me:secret@host:1", redisstore.Options{Addresses: []string{"host:1"}, Username: "me", Password: "secret"}, ""},
		{"Sentinels", "redis://host:26379?primary=main", redisstore.Options{Addresses: []string{"host:26379"}, Primary: "main"}, ""},
		{"TLS", "rediss://host:1", redisstore.Options{Addresses: []string{"host:1"}}, ""},
		{"no host", "redis://", redisstore.Options{}, "the host is missing"},
		{"no URL, and nothing of it is repeated", "redis://me:secret@ho st", redisstore.Options{}, "this is not a URL"},
		{"another scheme", "http://host", redisstore.Options{}, `the scheme is "http"`},
		{"an unknown setting", "redis://host?db=3", redisstore.Options{}, `unknown setting "db"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := redisOptions(tt.address)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "secret") {
					t.Fatalf("redisOptions(%q) fails with %v, want %q", tt.address, err, tt.fails)
				}
				return
			}
			if err != nil || (got.TLS != nil) != strings.HasPrefix(tt.address, "rediss") {
				t.Fatalf("redisOptions(%q) = %+v, %v", tt.address, got, err)
			}
			got.TLS, got.Mode = nil, 0
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestAPasswordIsNotInCommandsToRepeat(t *testing.T) {
	if got := redacted("redis://me:secret@host:1"); strings.Contains(got, "secret") {
		t.Errorf("redacted: %s", got)
	}
}
