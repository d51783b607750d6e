package flow

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at0 is the beginning of a window.
const at0 = int64(1_700_000_000) * s

func TestWindowSettles(t *testing.T) {
	const w = windowNanos
	type sent struct{ at, end, items, refused, until int64 }
	one := func(no int64, tasks int, items, squares, refused int64) Seen {
		return Seen{No: at0/w + no, Tasks: tasks, Sent: items, Squares: squares, Refused: refused}
	}
	for _, tt := range []struct {
		name  string
		tasks []sent
		ask   int64
		want  []Seen
	}{
		{"nothing was sent", nil, w, nil},
		{"not before it is over", []sent{{0, ms, 10, 0, 0}}, w - 1, nil},
		{"once it is over and all has ended", []sent{{0, ms, 10, 2, 0}, {w - 1, w, 5, 0, 0}}, w, []Seen{one(0, 2, 15, 125, 2)}},
		{"not while a task runs", []sent{{0, ms, 10, 0, 0}, {5, 2 * w, 10, 0, 0}}, w, nil},
		{"after two seconds without those that still run", []sent{{0, ms, 10, 1, 0}, {5, 99 * s, 10, 0, 0}}, w + 2*s, []Seen{one(0, 1, 10, 100, 1)}},
		{"in order", []sent{{0, w + w/2, 1, 0, 0}, {w, w + 1, 1, 0, 0}}, 2 * w, []Seen{one(0, 1, 1, 1, 0), one(1, 1, 1, 1, 0)}},
		{"not before the one before it", []sent{{0, 3 * w, 1, 0, 0}, {w, w + 1, 1, 0, 0}}, 2 * w, nil},
		{
			"with the latest time to come back",
			[]sent{{0, ms, 4, 4, 7 * s}, {1, ms, 4, 2, 6 * s}, {2, ms, 4, 1, 0}},
			w,
			[]Seen{{No: at0 / w, Tasks: 3, Sent: 12, Squares: 48, Refused: 7, Timed: 6, Until: 7 * s}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var win Windows
			for _, x := range tt.tasks {
				win.Sent(at0+x.at, int(x.items))
			}
			for _, x := range tt.tasks {
				if x.end <= tt.ask {
					win.Ended(at0+x.end, at0+x.at, int(x.items), int(x.refused), x.until)
				}
			}
			if got := win.Settled(at0+tt.ask, nil); !slices.Equal(got, tt.want) {
				t.Errorf("settled = %+v, want %+v", got, tt.want)
			}
			if again := win.Settled(at0+tt.ask, nil); len(again) != 0 {
				t.Errorf("handed out twice: %+v", again)
			}
		})
	}
}

// Whatever tasks do, and however late they end, each item that ends is counted once.
func TestEveryItemIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type task struct {
			sentAt         int64
			items, refused int
		}
		var w Windows
		var running []task
		var got, want Seen
		now, last := at0, int64(0)
		collect := func() {
			for _, x := range w.Settled(now, nil) {
				if x.No <= last {
					t.Fatalf("window %d was handed out after %d", x.No, last)
				}
				last = x.No
				got = got.add(x)
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += rapid.Int64Range(0, 400*ms).Draw(t, "pass")
			switch {
			case rapid.Bool().Draw(t, "send"):
				x := task{now, rapid.IntRange(1, 9).Draw(t, "items"), 0}
				x.refused = rapid.IntRange(0, x.items).Draw(t, "refused")
				running = append(running, x)
				w.Sent(now, x.items)
			case len(running) > 0:
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				x := running[i]
				running = slices.Delete(running, i, i+1)
				w.Ended(now, x.sentAt, x.items, x.refused, 0)
				want = want.add(Seen{Tasks: 1, Sent: int64(x.items), Squares: int64(x.items * x.items), Refused: int64(x.refused)})
			}
			collect() // as it is called in life: more often than the ring comes round
		}
		now += int64(time.Hour)
		collect()
		if got != want {
			t.Fatalf("counted %+v, want %+v", got, want)
		}
	})
}

func TestBlockNeedsMoreThanHalfOfAWindow(t *testing.T) {
	no := at0 / windowNanos
	for _, tt := range []struct {
		name string
		seen Seen
		want bool
	}{
		{"half", Seen{No: no, Tasks: 5, Sent: 100, Refused: 50, Timed: 50, Until: at0 + 9*s}, false},
		{"more than half", Seen{No: no, Tasks: 5, Sent: 100, Refused: 51, Timed: 51, Until: at0 + 9*s}, true},
		{"all, but without a time", Seen{No: no, Tasks: 5, Sent: 100, Refused: 100, Timed: 50, Until: at0 + 9*s}, false},
		{"nothing was sent", Seen{No: no}, false},
		{"all of four tasks", Seen{No: no, Tasks: 4, Sent: 100, Refused: 100, Timed: 100, Until: at0 + 9*s}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			until, blocked := tt.seen.Block()
			if blocked != tt.want || blocked && until != tt.seen.Until {
				t.Errorf("Block = %d, %v; want %v", until, blocked, tt.want)
			}
		})
	}
	if until, _ := (Seen{No: no, Tasks: 5, Sent: 1, Refused: 1, Timed: 1, Until: Never}).Block(); until > at0+2*int64(time.Hour) {
		t.Errorf("blocked until %v, want an hour at most", time.Unix(0, until))
	}
}

func TestWindowsDoNotAllocate(t *testing.T) {
	var w Windows
	now, dst := at0, make([]Seen, 0, 64)
	if n := testing.AllocsPerRun(1000, func() {
		w.Sent(now, 100)
		now += 30 * ms
		w.Ended(now, now-30*ms, 100, 1, 0)
		dst = w.Settled(now, dst[:0])
	}); n != 0 {
		t.Errorf("%v allocations a task, want 0", n)
	}
}

func TestWhatIsForgottenIsNotCountedWhenItEnds(t *testing.T) {
	var w Windows
	w.Sent(at0, 3)
	w.Forget(at0 + 1)
	w.Sent(at0+2, 5)
	w.Ended(at0+ms, at0, 3, 3, 0)
	w.Ended(at0+ms, at0+2, 5, 1, 0)
	got := w.Settled(at0+windowNanos, nil)
	if want := []Seen{{No: at0 / windowNanos, Tasks: 1, Sent: 5, Squares: 25, Refused: 1}}; !slices.Equal(got, want) {
		t.Errorf("settled = %+v, want %+v", got, want)
	}
}

func TestALargeTaskAmongSmallOnesIsOneTask(t *testing.T) {
	var w Windows
	for i := range int64(5) {
		items, refused := 2, 0
		if i == 0 {
			items, refused = 100, 100
		}
		w.Sent(at0+i, items)
		w.Ended(at0+ms, at0+i, items, refused, 0)
	}
	st := Estimate(at0+windowNanos, w.Settled(at0+windowNanos, nil), RateState{}, RateConfig{})
	if st.Limited {
		t.Errorf("one refused task of five cuts the rate: %s", st.Text)
	}
}
