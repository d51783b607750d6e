package partition

import "testing"

// Calls that hang are shown although nothing ends.
func TestWhatIsInFlightIsShownWithinASecond(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 4)
	b.chains["c"][0].Resource.Rate = 20
	b.message(envelope{Created: &Created{ID: "ba_x", Tenant: "t", Chain: "c", Steps: []string{"a"}, Items: 100}})
	started, shown := 0, int64(-1)
	for end := b.now + 4*showEvery; b.now < end; b.now += groupFor {
		do := b.advance()
		for _, task := range do.Start {
			started += len(task.Items)
		}
		for _, v := range do.Views {
			shown = v.Counts.InFlight
		}
		if b.flying != nil {
			b.commit()
		}
	}
	if started <= 4 || shown != int64(started) {
		t.Errorf("%d items are shown in flight, want %d", shown, started)
	}
	if do := b.advance(); do.Commit != nil {
		t.Error("it is written again although nothing has changed")
	}
}
