package fleettest

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/recorder"
)

// Two bulk actions of partition 0 and one of partition 1.
const (
	one   = "ba_01m7fcq7t00000000000000000"
	two   = "ba_01m7fcq7t10000000000000000"
	three = "ba_01m7fcq7t2000g000000000000"
)

// at returns a call at a number of milliseconds.
func at(ms int64, life int, bulk string) recorder.Entry {
	ns := ms * int64(time.Millisecond)
	return recorder.Entry{Life: life, Bulk: bulk, Step: recorder.Award, Attempt: 1, Planned: ns, Sent: ns, Received: ns}
}

// later returns a call of the second step.
func later(e recorder.Entry) recorder.Entry {
	e.Step = recorder.Message
	return e
}

func moment(ms int64) time.Time { return time.Unix(0, ms*int64(time.Millisecond)) }

func TestIDsCarryTheirPartition(t *testing.T) {
	for bulk, want := range map[string]int{one: 0, two: 0, three: 1, "x": -1} {
		if got := partitionOf(bulk); got != want {
			t.Errorf("partitionOf(%s) = %d, want %d", bulk, got, want)
		}
	}
}

func TestBusiestLooksAtEveryWindow(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   []int64
		want int
	}{
		{"nothing", nil, 0},
		{"one", []int64{5}, 1},
		{"a second apart is two windows", []int64{0, 1000}, 1},
		{"less than a second apart is one", []int64{0, 999}, 2},
		{"a window between full seconds", []int64{0, 600, 900, 1100, 1599, 2000}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Calls
			for _, ms := range tt.at {
				c = append(c, at(ms, 1, one))
			}
			slices.Reverse(c) // entries stand in the order of answers, not of calls
			if planned, sent := c.Busiest(); planned != tt.want || sent != tt.want {
				t.Errorf("Busiest() = %d, %d, want %d", planned, sent, tt.want)
			}
		})
	}
}

func TestRateAndSecondsCountWhatWasSentBetweenTwoTimes(t *testing.T) {
	c := Calls{at(100, 1, one), at(900, 2, one), at(1500, 1, one), at(2000, 1, one)}
	if got := c.Rate(moment(0), moment(2000)); got != 1.5 {
		t.Errorf("Rate() = %v, want 1.5", got)
	}
	by := c.Seconds(moment(0), moment(2000))
	if !slices.Equal(by[1], []int{1, 1, 0}) || !slices.Equal(by[2], []int{1, 0, 0}) {
		t.Errorf("Seconds() = %v", by)
	}
}

func TestGapsCountOnlyWhereThereWasWork(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls Calls
		want  time.Duration
	}{
		{"a pause in the middle", Calls{at(0, 1, one), at(300, 1, one), at(310, 1, one)}, 300 * time.Millisecond},
		{"another of the same partition went on", Calls{at(0, 1, one), at(100, 1, two), at(300, 1, one)}, 200 * time.Millisecond},
		{"another partition does not help", Calls{at(0, 1, one), at(100, 1, three), at(300, 1, one)}, 300 * time.Millisecond},
		{"no work does not count as a pause", Calls{at(0, 1, one), at(10, 1, one), at(500, 1, two), at(505, 1, two)}, 10 * time.Millisecond},
		{"the last step may take its time", Calls{at(0, 1, one), at(20, 1, one), later(at(900, 1, one))}, 20 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.calls.Gaps()[0]; got.Long != tt.want {
				t.Errorf("Gaps() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestResumedIsTheLongestOverWhatTheDeadHad(t *testing.T) {
	c := Calls{
		at(0, 2, two), at(950, 1, one), at(990, 1, three), // life 1 dies at 1000
		at(1100, 2, two), at(3000, 3, three),
	}
	if got, ok := c.Resumed(1, moment(1000)); got != 2*time.Second || !ok {
		t.Errorf("Resumed() = %v, %v, want 2s", got, ok)
	}
	if _, ok := c.Resumed(2, moment(5000)); ok {
		t.Error("work resumed that no node had")
	}
}

func TestFirstIsOfTheLifeAlone(t *testing.T) {
	c := Calls{at(10, 1, one), at(20, 2, one), at(70, 1, one), at(90, 1, one)}
	if got, ok := c.First(1, moment(15)); got != 55*time.Millisecond || !ok {
		t.Errorf("First() = %v, %v, want 55ms", got, ok)
	}
	if _, ok := c.First(2, moment(30)); ok {
		t.Error("no later call of life 2")
	}
	if got := c.Lives(); got[1] != 3 || got[2] != 1 {
		t.Errorf("Lives() = %v", got)
	}
}

func TestSilenceIsOfAllTogether(t *testing.T) {
	c := Calls{at(0, 1, one), at(100, 2, three), at(250, 1, two)}
	if got := c.Silence(); got != 150*time.Millisecond {
		t.Errorf("Silence() = %v, want 150ms", got)
	}
}
