package fault

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// failure is one that the tests count.
type failure struct {
	at      int64
	step    int
	code    string
	message string
	item    int64
}

func (g *Groups) count(all ...failure) {
	for _, f := range all {
		g.Add(f.at, f.step, f.code, f.message, f.item)
	}
}

// messages have one group each, whatever number they carry.
var messages = []string{"limit <n>", "no user '<n>'", "closed", "", "a\x00b"}

func drawFailures(t *rapid.T) []failure {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) failure {
		n := strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "n"))
		return failure{
			at: rapid.Int64Range(1, 100).Draw(t, "at"), step: rapid.IntRange(0, 1).Draw(t, "step"),
			code:    rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "code"),
			message: strings.ReplaceAll(rapid.SampledFrom(messages).Draw(t, "message"), "<n>", n),
			item:    rapid.Int64Range(0, 1<<40).Draw(t, "item"),
		}
	}), 0, 200).Draw(t, "failures")
}

func TestCountsAreExactInWhateverPartsTheyAreMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawFailures(t)
		var whole Groups
		parts := make([]Groups, 4)
		for i := range all {
			all[i].item = all[i].item<<8 | int64(i) // no two failures are of one item
			whole.count(all[i])
			parts[rapid.IntRange(0, 3).Draw(t, "part")].count(all[i])
		}
		var lists [][]Group
		for _, i := range rand.Perm(len(parts)) {
			lists = append(lists, parts[i].All())
		}
		merged := Merge(lists...)
		if d := cmp.Diff(whole.All(), merged); d != "" {
			t.Fatalf("merged groups differ (-whole +merged):\n%s", d)
		}
		sum := int64(0)
		for _, g := range merged {
			sum += g.Count
		}
		if most := 2 * 3 * len(messages); sum != int64(len(all)) || len(merged) > most {
			t.Fatalf("%d failures in %d groups, want %d in at most %d", sum, len(merged), len(all), most)
		}
	})
}

func TestCountingGoesOnFromWhatWasKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawFailures(t)
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		var whole, first Groups
		whole.count(all...)
		first.count(all[:cut]...)
		var kept []Group
		first.Changed(func(no int, g *Group) {
			if no != len(kept) {
				t.Fatalf("group %d comes after %d others", no, len(kept))
			}
			kept = append(kept, *g)
		})
		second := Restore(kept)
		second.Changed(func(no int, _ *Group) { t.Fatalf("group %d is not what was kept", no) })
		second.count(all[cut:]...)
		second.Changed(func(no int, g *Group) {
			if no < len(kept) {
				kept[no] = *g
				return
			}
			kept = append(kept, *g)
		})
		if d := cmp.Diff(whole.All(), Merge(kept)); d != "" {
			t.Fatalf("groups that were kept differ (-whole +kept):\n%s", d)
		}
	})
}

func TestTheLargestGroupComesFirstWithTheFirstItemAsASample(t *testing.T) {
	var g Groups
	g.count(
		failure{10, 0, "b", "one 1", 9}, failure{20, 0, "a", "two", 8},
		failure{30, 0, "c", "many 1", 7}, failure{40, 0, "c", "many 2", 6}, failure{25, 0, "c", "many 3", 12},
	)
	want := []Group{
		{Code: "c", Message: "many <n>", Count: 3, First: 25, Last: 40, Item: 6, Sample: "many 2"},
		{Code: "a", Message: "two", Count: 1, First: 20, Last: 20, Item: 8, Sample: "two"},
		{Code: "b", Message: "one <n>", Count: 1, First: 10, Last: 10, Item: 9, Sample: "one 1"},
	}
	if d := cmp.Diff(want, g.All()); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
}

func TestNoMoreThanAHundredGroupsAreShown(t *testing.T) {
	var a, b Groups
	for i := range 1000 {
		a.Add(1, i%2, fmt.Sprint("code-", i), "no", int64(i))
		b.Add(1, 0, fmt.Sprint("other-code-", i), "no", int64(1000+i))
	}
	for name, list := range map[string][]Group{"of one part": a.All(), "of two parts": Merge(a.list, b.list)} {
		own, others, sum := 0, 0, int64(0)
		for _, g := range list {
			sum += g.Count
			if g.Other {
				others++
			} else {
				own++
			}
		}
		want := int64(1000)
		if name == "of two parts" {
			want = 2000
		}
		if own != Most || others != 2 || sum != want {
			t.Errorf("groups %s: %d, others of %d steps, %d failures; want %d, 2, %d", name, own, others, sum, Most, want)
		}
	}
	if len(a.list) > kept+2 {
		t.Errorf("%d groups are kept, want %d and the others of two steps", len(a.list), kept)
	}
}

func TestAFrequentMessageIsShownHoweverLateItComes(t *testing.T) {
	for _, odd := range []int{200, 5000} {
		var g Groups
		for i := range odd {
			g.Add(1, 0, fmt.Sprint("odd-", i), "odd", int64(i))
		}
		for i := range 5000 {
			g.Add(2, 0, "closed", "account is closed", int64(odd+i))
			if i%10 == 0 {
				g.Add(2, 0, fmt.Sprint("late-", i), "odd", int64(odd+5000+i))
			}
		}
		first := g.All()[0]
		if first.Other { // more odd ones than closed accounts
			first = g.All()[1]
		}
		if first.Code != "closed" || first.Count != 5000 {
			t.Errorf("after %d odd ones the first group is %q with %d, want closed with exactly 5000", odd, first.Code, first.Count)
		}
	}
}

func TestWhatIsKeptOfAMessageIsBounded(t *testing.T) {
	var g Groups
	long := strings.Repeat("é", 100_000)
	g.Add(1, 0, long, long, 0)
	g.Add(2, 0, long, long, 1)
	x := g.All()[0]
	if x.Count != 2 || len(x.Code) > maxCode || len(x.Sample) > maxSample || len(x.Message) > maxNormal+len("…") {
		t.Errorf("%d failures; code, sample and message have %d, %d and %d bytes", x.Count, len(x.Code), len(x.Sample), len(x.Message))
	}
}

func BenchmarkAdd(b *testing.B) {
	for name, message := range map[string]func(i int) string{
		"the same":     func(int) string { return "the account is closed" },
		"each its own": func(i int) string { return fmt.Sprintf("no answer from 10.0.0.%d:8080 for request 4f2c9a%06x", i, i) },
	} {
		b.Run(name, func(b *testing.B) {
			var g Groups
			texts := make([]string, 1024)
			for i := range texts {
				texts[i] = message(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				g.Add(1, 0, "timeout", texts[i%len(texts)], int64(i))
			}
		})
	}
}

// Whatever is evicted where, a group has no fewer failures than its count, and no
// more than its count and what it may have missed. Counted again, the count is exact.
func TestMissedBoundsWhatACountLacks(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		parts, truth := make([]Groups, 3), map[string]int64{}
		var all []failure
		for i := range 4000 {
			kind := int(r.ExpFloat64() * 150) // some kinds come often, most seldom
			f := failure{at: 1, step: kind % 2, code: fmt.Sprint("code-", kind), item: int64(i)}
			all = append(all, f)
			truth[f.code]++
			parts[(kind+r.IntN(2))%3].count(f)
		}
		lists := [][]Group{parts[0].List(), parts[1].List(), parts[2].List()}
		if !Inexact(lists...) {
			t.Fatal("no part had too many kinds: the test shows nothing")
		}
		again, sum := Recount(lists...), int64(0)
		again.count(all...)
		for _, g := range again.All() {
			if sum += g.Count; !g.Other && (g.Count != truth[g.Code] || g.Missed != 0) {
				t.Fatalf("seed %d: counted again %s has %d and %d missed, want exactly %d", seed, g.Code, g.Count, g.Missed, truth[g.Code])
			}
		}
		if sum != int64(len(all)) {
			t.Fatalf("seed %d: counted again there are %d, want %d", seed, sum, len(all))
		}
		for _, g := range Merge(lists...) {
			if has := truth[g.Code]; !g.Other && (has < g.Count || has > g.Count+g.Missed) {
				t.Fatalf("seed %d: %s has %d, want between %d and %d", seed, g.Code, has, g.Count, g.Count+g.Missed)
			}
		}
	}
}
