package partition

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestABoundIsDividedByWhatShardsWant(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bound int64
		have  []claim
		want  []int64
	}{
		{"nobody has any: the same to all", 8, []claim{{0, 0, all}, {0, 0, all}, {0, 0, all}}, []int64{3, 3, 2}},
		{"what one does not use goes to the others", 24, []claim{{8, 8, 3}, {8, 8, all}, {8, 8, all}}, []int64{3, 8, 8}},
		{"and to them once it has confirmed that", 24, []claim{{3, 3, 3}, {8, 8, all}, {8, 8, all}}, []int64{3, 11, 10}},
		{"no part becomes smaller for nothing", 24, []claim{{8, 8, 3}, {8, 8, 8}, {8, 8, 8}}, []int64{8, 8, 8}},
		{"what does not divide stays where it is", 5, []claim{{1, 1, all}, {2, 2, all}, {2, 2, all}}, []int64{1, 2, 2}},
		{"fewer than shards", 2, []claim{{0, 0, all}, {1, 1, all}, {1, 1, all}}, []int64{0, 1, 1}},
		{"an idle one gives up its last", 1, []claim{{0, 0, all}, {1, 1, 0}}, []int64{0, 0}},
		{"more is granted than there is now", 4, []claim{{4, 4, all}, {4, 4, all}}, []int64{2, 2}},
		{"more is held than there is: none grows", 1, []claim{{0, 1, all}, {1, 1, 0}}, []int64{0, 0}},
		{"what is held cannot be granted", 10, []claim{{2, 10, 2}, {0, 0, all}}, []int64{2, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			share(tt.bound, tt.have, true)
			var got []int64
			for _, c := range tt.have {
				got = append(got, c.part)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the parts are %v, want %v", got, tt.want)
			}
		})
	}
}

// TestMoreIsNeverHeldThanTheBound draws what shards want and when they confirm what they have.
func TestMoreIsNeverHeldThanTheBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		bound, claims := 1+r.Int64N(40), make([]claim, 1+r.IntN(6))
		for range 30 {
			for i := range claims {
				switch c := &claims[i]; r.IntN(4) {
				case 0:
					c.want = r.Int64N(20) - 1
				case 1:
					c.held = c.part // confirmed
				}
			}
			share(bound, claims, r.IntN(3) > 0)
			sum := int64(0)
			for _, c := range claims {
				if sum += c.held; c.held < c.part || c.part < 0 {
					t.Fatalf("%+v is held of what was granted", c)
				}
			}
			if sum > bound {
				t.Fatalf("%+v hold %d of %d", claims, sum, bound)
			}
		}
		for range 3 { // all is confirmed, and asked for
			for i := range claims {
				claims[i].held, claims[i].want = claims[i].part, all
			}
			share(bound, claims, true)
		}
		sum := int64(0)
		for _, c := range claims {
			sum += c.part
		}
		if sum != bound {
			t.Fatalf("%+v use %d of %d", claims, sum, bound)
		}
	}
}

// TestNoMoreIsInForceThanTheBoundAlthoughMoreIsHeld begins as after a bound that is new: any shard may have anything under way,
// which does not count, and is held until it has confirmed its first part. What counts is the parts that were granted.
func TestNoMoreIsInForceThanTheBoundAlthoughMoreIsHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		bound, n := 1+r.Int64N(20), 1+r.IntN(5)
		claims, inForce := make([]claim, n), make([]int64, n)
		for i := range claims {
			claims[i] = claim{evenParts([]int64{bound}, i, n)[0], bound, all}
			inForce[i] = claims[i].part
		}
		for range 30 {
			for i := range claims {
				switch c := &claims[i]; r.IntN(4) {
				case 0:
					c.want = r.Int64N(20) - 1
				case 1:
					c.held, inForce[i] = c.part, c.part // confirmed
				}
			}
			share(bound, claims, r.IntN(3) > 0)
			sum := int64(0)
			for i, c := range claims {
				inForce[i] = max(inForce[i], c.part)
				sum += inForce[i]
			}
			if sum > bound {
				t.Fatalf("%d of %d may be in force: %v, %+v", sum, bound, inForce, claims)
			}
		}
	}
}

func TestASmallerPartOfARateIsInForceAfterAWindow(t *testing.T) {
	c := newCluster(t, 1, 2)
	b := c.bounded(0, 2000, 8, map[string]float64{"s0": 6})
	b.spec.Shards = []int{0, 1}
	c.sites[0].inbox = nil
	c.append(0, envelope{Created: b.spec})
	c.busy(b, 2*time.Second, 20*time.Millisecond)
	m := c.sites[1].m
	x := m.bulks[b.spec.ID]
	if got := m.inForce(c.now, x); !slices.Equal(got, []int64{4, 3, 0}) {
		t.Fatalf("%v are in force, want 4 tasks and 3 items: %s", got, c.partsOf(b))
	}
	m.setPart(c.now, x, []int64{0, 2, 0})
	if got, want := m.inForce(c.now, x), []int64{m.tasks(x), all, 0}; !slices.Equal(got, want) {
		t.Errorf("%v are in force right after, want %v", got, want)
	}
	if got := m.inForce(c.now+int64(time.Second), x); got[1] != 2 {
		t.Errorf("%v are in force a window later, want 2 items", got)
	}
}
