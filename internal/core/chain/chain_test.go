package chain

import (
	"testing"

	"github.com/weirhq/weir/internal/core/limit"
)

// step is a step of a queue whose blocks are numbers.
type step struct {
	Queue[int]
	at [10]Where
}

func (s *step) where(b int) *Where { return &s.at[b] }

func TestFewItemsLingerForASecond(t *testing.T) {
	s := &step{}
	if at := s.Place(5, 1, &s.at[1], true); at != 5+LingerFor || s.Len() != 0 {
		t.Errorf("few items are looked at again at %d, and %d blocks can be cut; want a second later, and none", at, s.Len())
	}
	if at := s.Place(6, 2, &s.at[2], true); at != 0 {
		t.Errorf("a second time is set, %d, where one is", at)
	}
	if at := s.Due(5+LingerFor, s.where); at != 6+LingerFor || s.Len() != 1 || s.First() != 1 {
		t.Errorf("after a second %d blocks can be cut, and the next is looked at at %d; want the first one", s.Len(), at)
	}
	if at := s.Due(6+LingerFor, s.where); at != 0 || s.Len() != 2 {
		t.Errorf("%d blocks can be cut, next look at %d; want both, and none", s.Len(), at)
	}
}

func TestABlockThatFillsUpIsCutAtOnceAndOnce(t *testing.T) {
	s := &step{}
	s.Place(0, 1, &s.at[1], true)
	s.Place(1, 1, &s.at[1], false)
	s.Place(2, 1, &s.at[1], false)
	s.Due(LingerFor, s.where)
	if s.Len() != 1 || s.at[1] != Ready {
		t.Errorf("%d blocks can be cut, want the one", s.Len())
	}
}

func TestWhatIsLeftOfABlock(t *testing.T) {
	for _, tt := range []struct {
		name      string
		none, few bool
		where     Where
		blocks    int
	}{
		{"nothing: it leaves", true, true, Nowhere, 0},
		{"few: it lingers", false, true, Lingering, 0},
		{"more: it is cut again", false, false, Ready, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &step{}
			s.Push(1, &s.at[1])
			at := s.Took(7, &s.at[1], tt.none, tt.few)
			if s.at[1] != tt.where || s.Len() != tt.blocks || (at != 0) != (tt.where == Lingering) {
				t.Errorf("it is in %d, %d blocks can be cut, and a look is set at %d", s.at[1], s.Len(), at)
			}
		})
	}
}

func TestAListThatIsUsedForLongStaysSmall(t *testing.T) {
	var q FIFO[int]
	for i := range 100_000 {
		if q.Push(i); i >= 10 {
			if got := q.Pop(); got != i-10 {
				t.Fatalf("%d came out, want %d", got, i-10)
			}
		}
	}
	if q.Len() != 10 || cap(q.items) > 200 {
		t.Errorf("%d are in it, in an array of %d; want 10 in a small one", q.Len(), cap(q.items))
	}
}

func TestAfterFailure(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		n, attempt, most, fails int
		free                    bool
		want                    Failed
	}{
		{"the first time it is tried again as it is", 8, 1, 5, 0, false, Failed{Attempt: 2, Fails: 1}},
		{"the second time in halves", 8, 2, 5, 1, false, Failed{Attempt: 3, Fails: 2, Halves: true}},
		{"later halves cost no attempt", 4, 3, 5, 2, false, Failed{Attempt: 3, Fails: 3, Halves: true}},
		{"nor does the last attempt end several items", 2, 5, 5, 4, false, Failed{Attempt: 5, Fails: 5, Halves: true}},
		{"one item pays for each", 1, 3, 5, 4, false, Failed{Attempt: 4, Fails: 5}},
		{"and ends with its last", 1, 5, 5, 6, false, Failed{Over: true}},
		{"an outage costs nothing", 1, 5, 5, 6, true, Failed{Attempt: 5, Fails: 7}},
		{"nor is the first failure counted then", 8, 1, 5, 0, true, Failed{Attempt: 1, Fails: 1}},
		{"a single attempt is a single attempt", 8, 1, 1, 0, true, Failed{Over: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := AfterFailure(tt.n, tt.attempt, tt.most, tt.fails, tt.free); got != tt.want {
				t.Errorf("AfterFailure = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	for _, tt := range []struct {
		name         string
		rate         float64
		chunk, batch int
		want         int64
	}{
		{"two seconds of the rate", 1000, 100, 100, 2000},
		{"four tasks at least", 10, 5, 100, 20},
		{"64 batches without a rate", 0, 100, 50, 3200},
	} {
		if got := Room(tt.rate, tt.chunk, tt.batch); got != tt.want {
			t.Errorf("%s: Room = %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestAPaceLetsAPartStartAndTellsWhenTheRestMay(t *testing.T) {
	const second = int64(1e9)
	p := Pace{Own: limit.New(10)}
	four, none := func() int { return 4 }, func() int { return 0 }
	if at := p.Look(0, four, true, false); at != 0 || !p.Waits {
		t.Errorf("what is held back waits: %t, and is looked at at %d; want without a time", p.Waits, at)
	}
	if at := p.Look(second, four, false, false); at != 0 || p.Waits || p.Part != 0 {
		t.Errorf("the first task waits: %t until %d, part %d; want all of it now", p.Waits, at, p.Part)
	}
	p.Own.Take(second, 10)
	at := p.Look(second, four, false, true)
	if !p.Waits || at <= second {
		t.Errorf("with the rate used up it waits: %t until %d", p.Waits, at)
	}
	if again := p.Look(second, four, false, true); again != 0 {
		t.Errorf("a time is set again, %d", again)
	}
	if p.Checked(at); p.Look(at, four, false, true) != 0 || p.Waits {
		t.Error("when the time has come it waits on")
	}
	if p.Look(at, none, false, false); p.Waits {
		t.Error("nothing waits")
	}
}

// The size of a task that is offered in part is that of the part. A look that took that for all
// of it would let all of it start.
func TestALookAsksForTheWholeTask(t *testing.T) {
	p := Pace{Own: limit.New(10)}
	size := func() int {
		if p.Part > 0 {
			return p.Part
		}
		return 8
	}
	p.Own.Busy(1e9)
	p.Own.Take(1e9, 6)
	p.Part = 3 // as a look before has left it
	if p.Look(19e8, size, false, false); p.Waits || size() > 4 {
		t.Errorf("%d items may start, waiting: %t; want a part that fits where the rate has room for 4", size(), p.Waits)
	}
}
