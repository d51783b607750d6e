package flow

import (
	"math/rand/v2"
	"testing"
	"time"
)

const tick = int64(10 * time.Millisecond)

// openClosure returns a closure that has seen enough calls pass, and the time.
func openClosure() (c Closure, now int64) {
	for now = at0; now < at0+10*second; now += tick {
		c.Ended(now, now-tick, false, 0)
	}
	return c, now
}

func TestADownstreamThatSuddenlyRefusesAllIsClosed(t *testing.T) {
	c, now := openClosure()
	for range rowSudden {
		if c.Ready(now, 1) > now {
			t.Fatal("closed before there was a reason")
		}
		c.Ended(now, now, true, 0)
	}
	if !c.Closed() || c.Text() == "" {
		t.Fatal("not closed")
	}
	c.Ended(now+1, now-tick, false, 0) // sent before
	if at := c.Ready(now+1, 0); at != now+firstAsk {
		t.Errorf("the next call is at %d, want at %d", at, now+firstAsk)
	}
	now += firstAsk
	if c.Ready(now, 0) > now {
		t.Fatal("no call asks whether it is still closed")
	}
	c.Sent(now)
	if at := c.Ready(now, 1); at != Never {
		t.Error("a second call may start beside the one that asks")
	}
	c.Ended(now+tick, now, false, 0)
	if c.Ready(now+tick, 1) > now+tick || c.Closed() {
		t.Error("not open although the call passed")
	}
	if c.Ready(now+tick, 500) <= now+tick {
		t.Error("everything starts at once after one call passed")
	}
	for range openSteps {
		c.Ended(now+2*tick, now+tick, false, 0)
	}
	if c.Ready(now+2*tick, 500) > now+2*tick {
		t.Error("not wholly open although several calls passed")
	}
}

func TestADownstreamThatAlwaysRefusesIsAskedSeldom(t *testing.T) {
	var c Closure
	calls := 0
	for now := at0; now < at0+600*second; now += tick {
		for range 16 {
			if c.Ready(now, 0) <= now {
				calls++
				c.Sent(now)
				c.Ended(now, now, true, 0)
			}
		}
	}
	if calls > 1000 {
		t.Errorf("%d calls in ten minutes of refusals, want a few a minute", calls)
	}
	from := calls
	for now := at0 + 600*second; now < at0+1200*second; now += tick {
		if c.Ready(now, 0) <= now {
			calls++
			c.Sent(now)
			c.Ended(now, now, true, 0)
		}
	}
	if calls-from > 70 {
		t.Errorf("%d calls in the ten minutes after, want one every ten seconds", calls-from)
	}
}

func TestATimeToComeBackIsKept(t *testing.T) {
	c, now := openClosure()
	until := now + 30*second
	for range rowSudden {
		c.Ended(now, now, true, until)
	}
	if at := c.Ready(now+20*second, 0); at != until {
		t.Errorf("asks at %d, want %d: the downstream said so", at, until)
	}
}

func TestRefusalsAtRandomCloseNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var c Closure
	for now := at0; now < at0+600*second; now += tick {
		if c.Ended(now, now-tick, rng.Float64() < 0.3, 0); c.Closed() {
			t.Fatalf("closed after %d s by refusals at random", (now-at0)/second)
		}
	}
}
