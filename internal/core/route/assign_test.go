package route

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// owners is an assignment that a test looks at.
type owners = map[int]string

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// equalNodes makes n nodes of 8 slots, "node-0" and up.
func equalNodes(n int) []Node {
	out := make([]Node, n)
	for i := range out {
		out[i] = Node{fmt.Sprintf("node-%d", i), 8}
	}
	return out
}

func counts(o owners) map[string]int {
	out := map[string]int{}
	for _, name := range o {
		out[name]++
	}
	return out
}

// moved lists the partitions whose owner differs, in order.
func moved(from, to owners) []int {
	var out []int
	for _, p := range slices.Sorted(maps.Keys(to)) {
		if from[p] != to[p] {
			out = append(out, p)
		}
	}
	return out
}

// drawCluster draws partitions and nodes; all nodes have equal slots if weighted is
// not set. Numbers and names come from a seed, so that big clusters are drawn as
// often as small ones.
func drawCluster(t *rapid.T, weighted bool) ([]int, []Node) {
	seed := rapid.Uint64().Draw(t, "seed")
	partitions := make([]int, 1+drawEven(t, "partitions", 256))
	for i := range partitions {
		partitions[i] = i<<8 | int(score(seed, uint64(i))&0xff) // up to 65,535, with gaps
	}
	nodes := make([]Node, 1+drawEven(t, "nodes", 64))
	for i := range nodes {
		h := score(seed, uint64(1000+i))
		nodes[i] = Node{fmt.Sprintf("%08x", uint32(h)), 8}
		if weighted {
			nodes[i].Slots = int(h >> 58) // 0 to 63
		}
	}
	return partitions, nodes
}

// drawEven draws below n, each number as often; rapid alone prefers small ones.
func drawEven(t *rapid.T, label string, n uint64) int {
	return int(score(rapid.Uint64().Draw(t, label), 0) % n)
}

// drawHeld draws what a node may believe: gaps, dead nodes and any imbalance.
func drawHeld(t *rapid.T, partitions []int, nodes []Node) owners {
	seed := rapid.Uint64().Draw(t, "held")
	few := 1 + drawEven(t, "few", uint64(len(nodes))) // the fewer hold all, the more has to move
	held := owners{}
	for _, p := range partitions {
		switch h := score(seed, uint64(p)); h % 8 {
		case 0:
		case 1:
			held[p] = "dead"
		default:
			held[p] = nodes[(h>>3)%uint64(few)].Name
		}
	}
	return held
}

// mustCover wants every partition to have one live owner, and no others.
func mustCover(t *rapid.T, got owners, partitions []int, nodes []Node) {
	t.Helper()
	if len(got) != len(partitions) {
		t.Fatalf("%d partitions have an owner, want %d", len(got), len(partitions))
	}
	for _, p := range partitions {
		if !slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == got[p] }) {
			t.Fatalf("partition %d is owned by %q, which is not live", p, got[p])
		}
	}
}

func TestEveryPartitionHasALiveOwnerWithinItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, true)
		got := Assign(partitions, nodes, drawHeld(t, partitions, nodes))
		mustCover(t, got, partitions, nodes)
		slots := 0
		for _, n := range nodes {
			slots += max(n.Slots, 1)
		}
		has := counts(got)
		for _, n := range nodes {
			if most := ceilDiv(len(partitions)*max(n.Slots, 1), slots); has[n.Name] > most {
				t.Fatalf("%s with %d of %d slots owns %d of %d partitions, want at most %d",
					n.Name, n.Slots, slots, has[n.Name], len(partitions), most)
			}
			if has[n.Name] == 0 && len(partitions) >= len(nodes) {
				t.Fatalf("%s owns nothing of %d partitions for %d nodes", n.Name, len(partitions), len(nodes))
			}
		}
	})
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func TestEqualNodesDifferByOneAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, false)
		has := counts(Assign(partitions, nodes, drawHeld(t, partitions, nodes)))
		least, most := len(partitions), 0
		for _, n := range nodes {
			least, most = min(least, has[n.Name]), max(most, has[n.Name])
		}
		if most-least > 1 {
			t.Fatalf("nodes own from %d to %d partitions", least, most)
		}
	})
}

func TestSlotsAreWeights(t *testing.T) {
	got := counts(Assign(numbers(120), []Node{{"big", 40}, {"mid", 16}, {"small", 4}}, nil))
	if want := map[string]int{"big": 80, "mid": 32, "small": 8}; !maps.Equal(got, want) {
		t.Errorf("partitions per node = %v, want %v", got, want)
	}
}

func TestOrderAndRepetitionOfInputsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, true)
		held := drawHeld(t, partitions, nodes)
		want := Assign(partitions, nodes, held)
		again := append(rapid.Permutation(nodes).Draw(t, "nodes again"), Node{nodes[0].Name, 0})
		shuffled := append(rapid.Permutation(partitions).Draw(t, "partitions again"), partitions[0])
		if got := Assign(shuffled, again, held); !maps.Equal(got, want) {
			t.Fatalf("in another order, partitions %v are owned by others", moved(want, got))
		}
	})
}

func TestInputsAreLeftAsTheyWere(t *testing.T) {
	partitions, nodes, held := []int{2, 0, 1}, []Node{{"b", 0}, {"a", 9}}, owners{0: "b", 1: "b", 2: "b"}
	Assign(partitions, nodes, held)
	if !slices.Equal(partitions, []int{2, 0, 1}) || !slices.Equal(nodes, []Node{{"b", 0}, {"a", 9}}) ||
		!maps.Equal(held, owners{0: "b", 1: "b", 2: "b"}) {
		t.Errorf("inputs are now %v, %v, %v", partitions, nodes, held)
	}
}

func TestAJoinMovesTheNewcomersShareAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, rapid.Bool().Draw(t, "weighted"))
		before := Assign(partitions, nodes, drawHeld(t, partitions, nodes))
		newcomer := Node{"new", rapid.IntRange(1, 64).Draw(t, "slots of new")}
		after := Assign(partitions, append(nodes, newcomer), before)
		for _, p := range moved(before, after) {
			if after[p] != newcomer.Name {
				t.Fatalf("partition %d moved from %s to %s when %s joined", p, before[p], after[p], newcomer.Name)
			}
		}
	})
}

func TestALeaveMovesOnlyThePartitionsOfWhoLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, rapid.Bool().Draw(t, "weighted"))
		if len(nodes) == 1 {
			return // no node would be left
		}
		before := Assign(partitions, nodes, drawHeld(t, partitions, nodes))
		gone := nodes[0].Name
		after := Assign(partitions, nodes[1:], before)
		for _, p := range moved(before, after) {
			if before[p] != gone {
				t.Fatalf("partition %d moved from %s to %s when %s left", p, before[p], after[p], gone)
			}
		}
	})
}

// TestTheAnswerIsSteadyWhileMovesAreUnderWay checks that views converge: whichever moves a
// node has heard of so far, it works towards the same end.
func TestTheAnswerIsSteadyWhileMovesAreUnderWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, true)
		held := drawHeld(t, partitions, nodes)
		want := Assign(partitions, nodes, held)
		progress := rapid.Uint64().Draw(t, "progress")
		for _, p := range moved(held, want) {
			switch score(progress, uint64(p)) % 3 {
			case 0:
				delete(held, p) // released, not yet taken
			case 1:
				held[p] = want[p]
			}
		}
		if got := Assign(partitions, nodes, held); !maps.Equal(got, want) {
			t.Fatalf("half way there, partitions %v are to go elsewhere", moved(want, got))
		}
	})
}

func TestNodesWithDifferentViewsConvergeOnceTheyAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions, nodes := drawCluster(t, true)
		truth := drawHeld(t, partitions, nodes)
		for _, n := range nodes { // each acts on what it believes: gives up, then takes what is free
			mine := Assign(partitions, nodes, drawHeld(t, partitions, nodes))
			act(truth, mine, n.Name)
		}
		want := Assign(partitions, nodes, truth)
		for range 2 { // now all see the truth, as it changes: one round gives up, the next takes
			for _, n := range nodes {
				act(truth, Assign(partitions, nodes, truth), n.Name)
			}
		}
		if !maps.Equal(truth, want) {
			t.Fatalf("partitions %v are not where they were to be once views agreed", moved(truth, want))
		}
	})
}

// act lets a node do what it may: release its own partitions, take those that are
// free or whose owner is dead.
func act(truth, target owners, node string) {
	for p, want := range target {
		holder, taken := truth[p]
		switch {
		case holder == node && want != node:
			delete(truth, p)
		case want == node && (!taken || holder == "dead"):
			truth[p] = node
		}
	}
}

func TestHoldersEarnTheirPlace(t *testing.T) {
	partitions, nodes := numbers(256), equalNodes(17)
	before := Assign(partitions, nodes[:16], nil)
	with := len(moved(before, Assign(partitions, nodes, before)))
	without := len(moved(before, Assign(partitions, nodes, nil)))
	t.Logf("17th node joins: %d of 256 partitions move with holders known, %d without; at least %d must", with, without, 256/17)
	if with != 256/17 {
		t.Errorf("%d partitions moved with holders known, want %d", with, 256/17)
	}
	if without < 2*with {
		t.Errorf("%d partitions moved without holders, %d with: the parameter can go", without, with)
	}
}

func TestARollingRestartMovesEachNodesPartitionsOutAndBack(t *testing.T) {
	partitions, nodes := numbers(64), equalNodes(3)
	o, total := Assign(partitions, nodes, nil), 0
	for i := range nodes {
		left := Assign(partitions, slices.Delete(slices.Clone(nodes), i, i+1), o)
		back := Assign(partitions, nodes, left)
		total += len(moved(o, left)) + len(moved(left, back))
		o = back
	}
	if total != 2*64 {
		t.Errorf("moves of a rolling restart = %d, want %d", total, 2*64)
	}
}

func TestOddInputs(t *testing.T) {
	for _, tt := range []struct {
		name       string
		partitions []int
		nodes      []Node
		held       owners
		want       owners
	}{
		{"no nodes: no owners", []int{1}, nil, nil, nil},
		{"no partitions: nothing to own", nil, equalNodes(2), nil, owners{}},
		{"one node owns all", []int{7, 65535}, equalNodes(1), nil, owners{7: "node-0", 65535: "node-0"}},
		{"more nodes than partitions: the biggest owns", []int{7}, []Node{{"a", 1}, {"b", 2}}, nil, owners{7: "b"}},
		{"a partition that is not asked for stays out", []int{7}, []Node{{"a", 1}}, owners{8: "a"}, owners{7: "a"}},
		{"a partition unheld is not held by a node without a name", []int{1, 2}, []Node{{"", 1}, {"a", 1}}, owners{1: "", 2: "a"}, owners{1: "", 2: "a"}},
		{"absurd slots do not overflow", []int{1, 2}, []Node{{"a", math.MaxInt}, {"b", math.MinInt}}, owners{1: "a", 2: "a"}, owners{1: "b", 2: "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Assign(tt.partitions, tt.nodes, tt.held); !maps.Equal(got, tt.want) {
				t.Errorf("Assign = %v, want %v", got, tt.want)
			}
		})
	}
}
