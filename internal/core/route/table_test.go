package route

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPartitionsHaveEquallyManySlots(t *testing.T) {
	for _, n := range []int{1, 2, 3, 15, 16, 17, 24, 100, 256, 1000, MostPartitions} {
		table := NewTable(n)
		has := make([]int, n)
		for _, p := range table.slots {
			has[p]++
		}
		for p, c := range has {
			if c < tableSlots/n || c > ceilDiv(tableSlots, n) {
				t.Errorf("partition %d of %d has %d slots, want %d or one more", p, n, c, tableSlots/n)
			}
		}
	}
}

func TestTableTakesTheNearerBound(t *testing.T) {
	for asked, want := range map[int]int{-1: 1, 0: 1, 1: 1, 16: 16, MostPartitions + 1: MostPartitions} {
		if got := NewTable(asked).Partitions(); got != want {
			t.Errorf("NewTable(%d) has %d partitions, want %d", asked, got, want)
		}
	}
}

func TestAChangeOfTheNumberMovesTheLeastPossible(t *testing.T) {
	for _, c := range [][2]int{{1, 2}, {2, 3}, {16, 17}, {16, 24}, {24, 15}, {64, 63}, {255, 256}, {256, 16}} {
		from, to := NewTable(c[0]), NewTable(c[1])
		slots := 0
		for s := range from.slots {
			if from.slots[s] != to.slots[s] {
				slots++
			}
		}
		const tenants = 100_000
		homes, seconds := 0, 0
		for i := range tenants {
			name := fmt.Sprintf("tenant-%d", i)
			a, b := from.Candidates(name)
			a2, b2 := to.Candidates(name)
			homes += btoi(a != a2)
			seconds += btoi(b != b2)
		}
		least := math.Abs(float64(c[1]-c[0])) / float64(max(c[0], c[1]))
		share := float64(slots) / tableSlots
		t.Logf("%d -> %d: least %.2f%%, slots %.2f%% (%.3fx), homes %.2f%%, second candidates %.2f%%", c[0], c[1],
			100*least, 100*share, share/least, 100*float64(homes)/tenants, 100*float64(seconds)/tenants)
		if share > least*1.1 {
			t.Errorf("%d -> %d partitions moves %.2f%% of slots, want at most %.2f%%", c[0], c[1], 100*share, 110*least)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestOnlyPartitionsThatComeOrGoTakePart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 256).Draw(t, "n")
		m := rapid.IntRange(n, 256).Draw(t, "m")
		small, big := NewTable(n), NewTable(m)
		for s := range small.slots {
			if small.slots[s] != big.slots[s] && int(big.slots[s]) < n {
				t.Fatalf("slot %d moved from %d to %d, which was there before", s, small.slots[s], big.slots[s])
			}
		}
	})
}

func TestCandidatesDifferAndBeginAtHome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 256).Draw(t, "n")
		tenant := rapid.String().Draw(t, "tenant")
		table := NewTable(n)
		a, b := table.Candidates(tenant)
		if home := table.Home(tenant); a != home {
			t.Fatalf("first candidate is %d, home is %d", a, home)
		}
		if (a == b) != (n == 1) || max(a, b) >= n || min(a, b) < 0 {
			t.Fatalf("candidates of %d partitions = %d, %d", n, a, b)
		}
		if k := table.Keyed(tenant, rapid.String().Draw(t, "key")); k != a && k != b {
			t.Fatalf("keyed = %d, want %d or %d", k, a, b)
		}
	})
}

// TestPairsOfCandidatesAreEquallyLikely looks at ordered pairs, so a second
// candidate that leaned on the first would show.
func TestPairsOfCandidatesAreEquallyLikely(t *testing.T) {
	const n, each = 8, 5000
	table := NewTable(n)
	var pairs [n][n]int
	for i := range each * n * (n - 1) {
		a, b := table.Candidates(fmt.Sprintf("tenant-%d", i))
		pairs[a][b]++
	}
	for a := range n {
		for b := range n {
			if got := pairs[a][b]; a != b && math.Abs(float64(got-each)) > 5*math.Sqrt(each) {
				t.Errorf("pair %d, %d came %d times, want about %d", a, b, got, each)
			}
		}
	}
}

func TestKeysChooseEitherCandidateAlike(t *testing.T) {
	const keys = 10_000
	table := NewTable(16)
	home := table.Home("acme")
	at := 0
	for i := range keys {
		at += btoi(table.Keyed("acme", fmt.Sprintf("key-%d", i)) == home)
	}
	if math.Abs(float64(at)-keys/2) > 5*math.Sqrt(keys)/2 {
		t.Errorf("%d of %d keys chose home, want about half", at, keys)
	}
}

func TestChooseTakesTheLessLoaded(t *testing.T) {
	for _, tt := range []struct {
		name string
		load [2]float64
		want int
	}{
		{"the first has less", [2]float64{1, 2}, 0},
		{"the second has less", [2]float64{2, 1}, 1},
		{"equal loads take the first", [2]float64{1, 1}, 0},
		{"a load beyond all bounds is avoided", [2]float64{math.Inf(1), 9}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Choose(0, 1, func(p int) float64 { return tt.load[p] }); got != tt.want {
				t.Errorf("Choose = %d, want %d", got, tt.want)
			}
		})
	}
}
