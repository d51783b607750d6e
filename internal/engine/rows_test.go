package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// inBlock is how many items a block has.
const inBlock = 1024

func read(t testing.TB, b *engine.BulkAction, o engine.RowOptions) (list []report.Row) {
	t.Helper()
	for row, err := range b.Rows(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	return list
}

// tens fails every tenth item of the second block, and no other.
func tens(name string) weir.Action[int, string] {
	return each(name, func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if it.Value/inBlock == 1 && it.Value%10 == 0 {
			b.Fail(i, "no", errors.New("no"))
			return
		}
		b.Done(i, "r-"+it.ID)
	})
}

func TestRowsBeginAtAnyItem(t *testing.T) {
	const n = 2*inBlock + 100
	r := start(t, memory(), engine.Options{}, action(tens("step")))
	b := submit(t, r, spec(tens("step")), numbers(n))
	all := rowsOf(t, wait(t, b))
	for i, x := range all {
		if x.No != int64(i) || x.KeyNo != int64(i) || x.ID != id(i) {
			t.Fatalf("row %d is %+v", i, x)
		}
	}
	for _, from := range []int{-1, 0, 1, inBlock - 1, inBlock, inBlock + 1, n - 1, n, n + inBlock} {
		got, want := read(t, b, engine.RowOptions{From: int64(from)}), all[min(max(from, 0), n):]
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("from %d: %d rows, want the last %d of the report", from, len(got), len(want))
		}
	}
}

func TestBlocksThatHaveNoneOfAStateAreNotOpened(t *testing.T) {
	const n = 4 * inBlock
	s := &opening{Store: memory()}
	r := start(t, s, engine.Options{}, action(tens("step")))
	b := submit(t, r, spec(tens("step")), numbers(n))
	all := rowsOf(t, wait(t, b))
	for _, tt := range []struct {
		state  report.State
		from   int64
		opened int64
	}{
		{"", 0, 4},
		{report.StateFailed, 0, 1},
		{report.StateFailed, inBlock + 5, 1},
		{report.StateFailed, 2 * inBlock, 0},
		{report.StateDone, 0, 4},
		{report.StateCancelled, 0, 0},
		{report.StateReady, 0, 0},
		{report.StateWaiting, 0, 0},
	} {
		t.Run(fmt.Sprintf("%q from %d", tt.state, tt.from), func(t *testing.T) {
			s.opened.Store(0)
			told, ends := int64(0), []int64{}
			got := read(t, b, engine.RowOptions{From: tt.from, State: tt.state, Turn: func(next int64, opened bool) bool {
				if ends = append(ends, next); opened {
					told++
				}
				return true
			}})
			want := slices.DeleteFunc(slices.Clone(all[tt.from:]), func(x report.Row) bool { return tt.state != "" && x.State != tt.state })
			if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
			if s.opened.Load() != tt.opened || told != tt.opened {
				t.Errorf("%d blocks were opened, and %d told; want %d", s.opened.Load(), told, tt.opened)
			}
			if all := []int64{inBlock, 2 * inBlock, 3 * inBlock, n}; !slices.Equal(ends, all[tt.from/inBlock:]) {
				t.Errorf("there was a turn at %v, want one after each block", ends)
			}
		})
	}
}

func TestAReadingThatWasEndedGoesOnWhereItWasTold(t *testing.T) {
	const n = 3*inBlock + 1
	r := start(t, memory(), engine.Options{}, action(tens("step")))
	b := submit(t, r, spec(tens("step")), numbers(n))
	all := rowsOf(t, wait(t, b))
	var got []report.Row
	at, parts := int64(0), 0
	for ; at < n; parts++ {
		got = append(got, read(t, b, engine.RowOptions{From: at, Turn: func(next int64, _ bool) bool {
			at = next
			return false
		}})...)
	}
	if parts != 4 || !reflect.DeepEqual(got, all) {
		t.Errorf("%d rows in %d parts, want the %d of the report in 4", len(got), parts, len(all))
	}
}

// sixWays awards and then sends: each way an item can go is gone by one of the first six.
func sixWays() weir.Chain[int, string] {
	one := each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		switch it.Value {
		case 1:
			b.Fail(i, "closed", errors.New("account 1 is closed"))
		case 2:
			b.Retry(i, errDown, time.Hour)
		case 3:
			b.LeaveOut(i, "not wanted")
		default:
			b.Done(i, fmt.Sprint("reward-", it.Value))
		}
	})
	two := relay("message", func(b *weir.Batch[string, string], i int, it weir.Item[string]) {
		switch {
		case strings.HasPrefix(it.Value, "4:"):
			b.Fail(i, "bounced", errors.New("no such address"))
		case strings.HasPrefix(it.Value, "5:"):
			b.Retry(i, errDown, time.Hour)
		default:
			b.Done(i, "sent")
		}
	})
	return weir.Then(weir.Start(one), two, joined).Named("campaign")
}

func TestARowTellsHowFarAnItemHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sixWays()
		r := start(t, memory(), engine.Options{}, chain(c))
		b := submit(t, r, job[int]{Chain: c}, numbers(6))
		time.Sleep(time.Minute)
		running := read(t, b, engine.RowOptions{})
		for i, want := range []string{
			`done at message, [award message] ["\"reward-0\"" "\"sent\""]`,
			`failed at award, [] [] closed`,
			`waiting at award, [] [] retry`,
			`cancelled at award, [] [] not wanted`,
			`failed at message, [award] ["\"reward-4\""] bounced`,
			`waiting at message, [award] ["\"reward-5\""] retry`,
		} {
			x := &running[i]
			got := strings.TrimSpace(fmt.Sprintf("%s at %s, %v %q %s%s", x.State, x.Step, b.Passed(x), x.Outputs, x.Code, x.Reason))
			if got != want || x.Attempts != 1 {
				t.Errorf("item %d: %s after %d attempts, want %s", i, got, x.Attempts, want)
			}
		}
		if got := read(t, b, engine.RowOptions{State: report.StateWaiting}); !reflect.DeepEqual(got, []report.Row{running[2], running[5]}) {
			t.Errorf("%+v wait, want items 2 and 5", got)
		}
		rep, err := b.Report(t.Context())
		must(t, err)
		wantRowsToMatch(t, rep) // there, what waits is ready
		must(t, b.Cancel(t.Context(), "enough"))
		wait(t, b)
		if got := read(t, b, engine.RowOptions{State: report.StateCancelled}); len(got) != 3 || got[0].Attempts != 1 || got[0].Code != "" || got[2].No != 5 || got[2].Attempts != 1 {
			t.Errorf("%+v are cancelled, want items 2, 3 and 5, each after 1 attempt with a clear answer", got)
		}
	})
}

func TestTheRowsOfARetryHaveWhatWasBroughtAlong(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]string{}
	fails := true
	one := each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) { b.Done(i, "reward-"+it.ID) })
	two := relay("message", func(b *weir.Batch[string, string], i int, it weir.Item[string]) {
		mu.Lock()
		defer mu.Unlock()
		keys[it.ID] = b.Key(i)
		if fails && it.ID[len(it.ID)-1] == '7' {
			b.Fail(i, "no", errors.New("no"))
			return
		}
		b.Done(i, "sent")
	})
	c := weir.Then(weir.Start(one), two, joined).Named("campaign")
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprint("keys kept: ", keep), func(t *testing.T) {
			fails = true
			r := start(t, memory(), engine.Options{}, chain(c))
			b := submit(t, r, job[int]{Chain: c}, numbers(100))
			wait(t, b)
			fails = false
			made, err := b.Retry(t.Context(), engine.RetryOptions{NewKeys: !keep})
			must(t, err)
			wait(t, made[0])
			list := read(t, made[0], engine.RowOptions{})
			for i := range list {
				x := &list[i]
				if string(x.Outputs[0]) != `"reward-`+x.ID+`"` || string(x.Output) != `"sent"` || !slices.Equal(made[0].Passed(x), []string{"message"}) {
					t.Errorf("%+v passed %v, want the carried answer and the last step alone", x, made[0].Passed(x))
				}
				if key := made[0].Key(x, "message"); key != keys[x.ID] {
					t.Errorf("key of %s is %s, and its action was given %s", x.ID, key, keys[x.ID])
				}
			}
			if len(list) != 10 {
				t.Errorf("%d rows, want 10", len(list))
			}
		})
	}
}

func TestRowsOfABulkActionThatNobodyHasBegunAreReady(t *testing.T) {
	s := memory()
	defer s.Close()
	r := open(t, s, engine.Options{}, action(noop("step")))
	b := submit(t, r, spec(noop("step")), numbers(inBlock+1))
	if got := read(t, b, engine.RowOptions{State: report.StateReady}); len(got) != inBlock+1 || got[inBlock].Step != "step" || got[0].Attempts != 0 {
		t.Errorf("%d items are ready, want all", len(got))
	}
}

func TestRowsOfABulkActionThatWasRemovedSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, memory(), engine.Options{KeepFor: keptFor}, action(noop("step")))
		b := submit(t, r, spec(noop("step")), numbers(2*inBlock))
		rep := wait(t, b)
		time.Sleep(keptFor + 2*time.Minute)
		for _, err := range b.Rows(t.Context(), engine.RowOptions{}) {
			if !errors.Is(err, weir.ErrExpired) {
				t.Errorf("Rows = %v, want ErrExpired", err)
			}
		}
		for _, err := range rep.Rows(t.Context()) { // of a report that was read before
			if !errors.Is(err, weir.ErrExpired) {
				t.Errorf("the report's rows = %v, want ErrExpired", err)
			}
		}
	})
}
