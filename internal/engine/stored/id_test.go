package stored

import (
	"testing"
	"time"
)

func TestABulkActionsTimeIsInItsID(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	at := Began(NewID(7))
	if at.Before(before) || time.Since(at) > time.Minute {
		t.Errorf("Began() = %v; want about %v", at, before)
	}
	if at := Began("ba_nonsense"); !at.IsZero() {
		t.Errorf("the time of an id that is none is %v", at)
	}
}

func TestIDsOfATimeAndLaterAreAfterWhereTheyBegin(t *testing.T) {
	id := NewID(0)
	made := Began(id)
	for _, tt := range []struct {
		at    time.Time
		after bool // the id is of the time or later
	}{
		{made, true},
		{made.Add(-time.Nanosecond), true},
		{made.Add(time.Nanosecond), false}, // an id has whole milliseconds
		{made.Add(time.Millisecond), false},
		{made.In(time.FixedZone("", 3600)), true},
		{time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), true},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), false},
		{time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), false},
	} {
		if begin := FirstAt(tt.at); (id > begin) != tt.after || len(begin) != len(id) {
			t.Errorf("%s of %v is after %s: %v, want %v", id, made, begin, id > begin, tt.after)
		}
	}
}
