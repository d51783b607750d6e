package flow

import "testing"

func TestOneTaskGoesBeforeAnyOther(t *testing.T) {
	b := NewBreaker(1)
	b.Probe()
	if ok, _ := b.Allow(0, 0); !ok {
		t.Fatal("the first task may not start")
	}
	if ok, at := b.Allow(second/2, 1); ok || at != probeFor {
		t.Errorf("a second task beside the first: %t, ask again at %d; want no, at %d", ok, at, probeFor)
	}
	b.Ended(second, 0, false)
	if ok, _ := b.Allow(second, 500); !ok {
		t.Error("others may not start although the first succeeded")
	}
	b.Probe()
	if b.Unproven() {
		t.Error("it has to be proven again")
	}
}

func TestAFirstTaskThatFailsOpensTheBreaker(t *testing.T) {
	b := NewBreaker(1)
	b.Probe()
	b.Allow(0, 0)
	b.Ended(1, 0, true)
	if s := b.State(); s.Phase != Open || s.Until < second/2 {
		t.Fatalf("state = %+v, want open for about a second", s)
	}
	now, calls := int64(1), 1
	for ; now < 30*second; now += second / 10 {
		if ok, _ := b.Allow(now, 0); ok {
			b.Ended(now, now, true)
			calls++
		}
	}
	if calls < 4 || calls > 8 {
		t.Errorf("%d calls in 30 s, want a handful", calls)
	}
}

func TestAFirstSuccessClosesTheBreakerWhateverFailedBefore(t *testing.T) {
	b := NewBreaker(1)
	b.Probe()
	b.Allow(0, 0)
	b.Ended(1, 0, true)
	now := b.State().Until
	b.Allow(now, 0)
	b.Ended(now, now, false)
	for range 9 { // halves of a batch with a poisonous item
		b.Ended(now, now, true)
	}
	if s := b.State(); s.Phase != Closed {
		t.Errorf("state = %+v, want closed: few calls tell too little", s)
	}
}

func TestASlowFirstTaskDoesNotHoldOthersUpForLong(t *testing.T) {
	b := NewBreaker(1)
	b.Probe()
	inFlight := 0
	for now := int64(0); now < 13*second; now += second / 10 {
		for ok, _ := b.Allow(now, inFlight); ok && inFlight < 64; ok, _ = b.Allow(now, inFlight) {
			inFlight++
		}
	}
	if inFlight != 64 {
		t.Errorf("%d tasks in flight after 13 s, want all 64", inFlight)
	}
}
