package scale

import (
	"testing"
	"time"
)

// live is so many weeks with a need of 50 from 9 to 10 on Fridays, the day of
// epoch, and 2 at all other times, one look per minute.
func live(h History, from int64, weeks int) (History, int64) {
	end := from + int64(weeks)*int64(week)
	for ; from < end; from += int64(time.Minute) {
		need := 2.0
		if (from-epoch)%int64(week)/int64(time.Hour) == 9 {
			need = 50
		}
		h = h.Observe(from, need)
	}
	return h, end
}

func TestFloorIsLearnedByHourOfWeek(t *testing.T) {
	nine := 9 * int64(time.Hour)
	h, now := live(History{}, epoch, 1)
	if got := h.Floor(now + nine); got != 0 {
		t.Errorf("floor after one week = %d, want 0: one week does not make a habit", got)
	}
	h, now = live(h, now, 1)
	for _, tt := range []struct {
		name     string
		at       int64
		low, top int
	}{
		{"the peak's hour", now + nine, 31, 40},
		{"just before it", now + nine - int64(time.Minute), 31, 40},
		{"well before it", now + nine - 10*int64(time.Minute), 1, 1},
		{"the same hour of another day", now + nine + 24*int64(time.Hour), 1, 1},
	} {
		if got := h.Floor(tt.at); got < tt.low || got > tt.top {
			t.Errorf("floor at %s = %d, want %d to %d", tt.name, got, tt.low, tt.top)
		}
	}
}

func TestFloorForgets(t *testing.T) {
	h, now := live(History{}, epoch, 3)
	now += 5 * int64(week) // asleep for longer than it remembers
	h = h.Observe(now, 1)
	if got := h.Floor(now + 9*int64(time.Hour)); got != 0 {
		t.Errorf("floor after five weeks of sleep = %d, want 0", got)
	}
}

func TestShortSpikesAreNoPeak(t *testing.T) {
	h := History{}
	for w := range int64(2) {
		for m := range int64(60) {
			need := 4.0
			if m == 30 {
				need = 4000
			}
			h = h.Observe(epoch+w*int64(week)+m*int64(time.Minute), need)
		}
	}
	h = h.Observe(epoch+int64(week)+int64(time.Hour), 1)
	if got := h.Floor(epoch + 2*int64(week)); got != 3 {
		t.Errorf("floor = %d, want 3: one minute in sixty is below the 95th percentile", got)
	}
}
