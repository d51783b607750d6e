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
