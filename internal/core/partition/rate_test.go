package partition

import (
	"testing"
	"time"
)

func TestLatelyFollowsWhatHappens(t *testing.T) {
	var l Lately
	second := int64(time.Second)
	for i := range int64(50) {
		l.Note((100+i)*second, i*500)
	}
	if l.Rate < 499 || l.Rate > 501 {
		t.Errorf("rate = %v, want 500", l.Rate)
	}
	for i := range int64(30) {
		l.Note((150+i)*second, 49*500)
	}
	if l.Rate > 1 {
		t.Errorf("rate after 30 s without progress = %v, want about 0", l.Rate)
	}
}
