package partition

import "testing"

func TestTheNewestTurnsAreKept(t *testing.T) {
	b := &bulk{spec: &Created{}}
	for i := range 2*mostTurns + 3 {
		before := b.status.Turns
		b.status.Failed = int64(i)
		b.turn(int64(i), TurnStopped, "failure rule")
		if len(before) > 0 && before[0].At != max(int64(i)-mostTurns, 0) {
			t.Fatalf("turn %d changed what a commit may be writing", i)
		}
	}
	turns := b.status.Turns
	if last := turns[len(turns)-1]; len(turns) != mostTurns || last.At != 2*mostTurns+2 || last.Failed != last.At {
		t.Errorf("%d turns are kept, the last is %+v", len(turns), turns[len(turns)-1])
	}
}
