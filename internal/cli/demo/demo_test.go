package demo

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// task is items first to first+n-1 of the demo's users.
func task(first, n, attempt int) *weir.Task {
	t := &weir.Task{ID: "tsk_1", Bulk: "ba_1", Attempt: attempt, Outcomes: make([]weir.Outcome, n)}
	for i := range n {
		t.Items = append(t.Items, weir.TaskItem{No: int64(i), ID: makeUser(1, first+i).id, Data: []byte("{}")})
	}
	return t
}

// outcomes runs a step once over n users and counts outcomes by kind.
func outcomes(t *testing.T, s weir.Step, n, attempt int) (*weir.Task, map[weir.OutcomeKind]int) {
	t.Helper()
	all := task(0, n, attempt)
	if err := s.Handle(context.Background(), all); err != nil {
		t.Fatalf("%s = %v", s.Name, err)
	}
	count := map[weir.OutcomeKind]int{}
	for _, o := range all.Outcomes {
		count[o.Kind]++
	}
	return all, count
}

func TestItemsFailAsOftenAsPromised(t *testing.T) {
	const n = 100_000
	for _, s := range Actions(Options{NoLatency: true}) {
		_, first := outcomes(t, s, n, 1)
		if got := first[weir.OutcomeRetry]; got < 800 || got > 1200 {
			t.Errorf("%s: %d of %d ask for a second attempt, want about 1,000", s.Name, got, n)
		}
		if got := first[weir.OutcomeFailed]; got < 25 || got > 80 {
			t.Errorf("%s: %d of %d fail, want about 50", s.Name, got, n)
		}
		_, second := outcomes(t, s, n, 2)
		if second[weir.OutcomeRetry] != 0 || second[weir.OutcomeFailed] != first[weir.OutcomeFailed] || second[weir.OutcomeDone] != n-second[weir.OutcomeFailed] {
			t.Errorf("%s: second attempt ends %v, want the rest done and the same failed as %v", s.Name, second, first)
		}
	}
}

func TestSameItemsEndAlike(t *testing.T) {
	for i := range 2 {
		a, _ := outcomes(t, Actions(Options{NoLatency: true})[i], 5000, 1)
		b, _ := outcomes(t, Actions(Options{NoLatency: true})[i], 5000, 1)
		c, _ := outcomes(t, Actions(Options{NoLatency: true, Seed: 2})[i], 5000, 1)
		same := func(x, y weir.Outcome) bool {
			return x.Kind == y.Kind && x.Code == y.Code && bytes.Equal(x.Output, y.Output)
		}
		if !slices.EqualFunc(a.Outcomes, b.Outcomes, same) || slices.EqualFunc(a.Outcomes, c.Outcomes, same) {
			t.Errorf("step %d: outcomes do not follow from ids and seed", i)
		}
	}
}

func TestFailuresNameTheirCause(t *testing.T) {
	want := map[string]string{Award: "wallet_rejected: account u0", Message: "bad_address: unknown recipient"}
	for _, s := range Actions(Options{NoLatency: true}) {
		got, _ := outcomes(t, s, 20_000, 1)
		for _, o := range got.Outcomes {
			if text := o.Code + ": " + o.Message; o.Kind == weir.OutcomeFailed && !strings.HasPrefix(text, want[s.Name]) {
				t.Errorf("%s: %s, want %s…", s.Name, text, want[s.Name])
			}
		}
	}
}

func TestMessageDependsOnTheReward(t *testing.T) {
	steps := Actions(Options{NoLatency: true, NoFaults: true})
	awarded, _ := outcomes(t, steps[0], 1, 1)
	var reward struct {
		ID string `json:"reward_id"`
	}
	if err := json.Unmarshal(awarded.Outcomes[0].Output, &reward); err != nil || !strings.HasPrefix(reward.ID, "r-") {
		t.Fatalf("award answered %s", awarded.Outcomes[0].Output)
	}
	seen := map[string]bool{}
	for _, previous := range []string{"", string(awarded.Outcomes[0].Output), `{"reward_id":"r-other"}`} {
		told := task(0, 1, 1)
		told.Items[0].Previous = []byte(previous)
		if err := steps[1].Handle(context.Background(), told); err != nil {
			t.Fatal(err)
		}
		out := string(told.Outcomes[0].Output)
		if !strings.HasPrefix(out, `{"message_id":"m-`) || !json.Valid([]byte(out)) {
			t.Errorf("message answered %s", out)
		}
		seen[out] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d messages for 3 rewards, want 3", len(seen))
	}
}

func TestCallsAreRefusedNowAndThen(t *testing.T) {
	s := Actions(Options{NoLatency: true})[0]
	refused := 0
	for range 1000 {
		err := s.Handle(context.Background(), task(0, 1, 1))
		if r, ok := weir.AsRefused(err); ok && r.After <= time.Second {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != 5 {
		t.Errorf("%d of 1,000 calls refused, want 5", refused)
	}
}

func TestBatchTakesAFewMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Actions(Options{NoFaults: true})[0]
		var took []time.Duration
		for i := range 500 {
			start := time.Now()
			if err := s.Handle(t.Context(), task(i, 1, 1)); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		if took[0] < 2*time.Millisecond || took[499] > 20*time.Millisecond || took[250] > 5*time.Millisecond || took[480] < 10*time.Millisecond {
			t.Errorf("min %v, median %v, p96 %v, max %v; want 2 to 20 ms with a long tail", took[0], took[250], took[480], took[499])
		}
	})
}

func TestCallEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if err := Actions(Options{})[0].Handle(ctx, task(0, 1, 1)); !errors.Is(err, cause) {
		t.Errorf("call = %v, want %v", err, cause)
	}
}

// 100,000 items have to go through both steps in half a minute.
func TestRatesAllowAShortDemo(t *testing.T) {
	for _, s := range Actions(Options{}) {
		if took := 100_000 / float64(s.Resource.Rate); took > 20 {
			t.Errorf("%s needs %.0f s at its rate, want at most 20", s.Name, took)
		}
		slowest := 20 * time.Millisecond
		if can := float64(s.Resource.Concurrency*s.BatchSize) / slowest.Seconds(); can < float64(s.Resource.Rate) {
			t.Errorf("%s can do %.0f items/s, less than its rate %v", s.Name, can, s.Resource.Rate)
		}
	}
}

func TestUsersFileIsWhatTheGeneratorMakes(t *testing.T) {
	var want bytes.Buffer
	if err := WriteUsers(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../examples/rewards/users.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("examples/rewards/users.csv differs; run go generate ./internal/cli/demo")
	}
	rows, err := csv.NewReader(&want).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, row := range rows[1:] {
		ids[row[0]] = true
		if !strings.HasSuffix(row[3], "@example.com") {
			t.Errorf("email %q could be somebody's", row[3])
		}
	}
	if rows := len(rows) - 1; rows != 10_000 || rows-len(ids) != 12 {
		t.Errorf("%d rows with %d duplicates, want 10,000 with 12", rows, rows-len(ids))
	}
}

func TestItemsAreUsers(t *testing.T) {
	seen := map[string]bool{}
	for it := range Items(1000, 3) {
		var u struct {
			ID      string `json:"user_id"`
			Amount  int    `json:"amount"`
			Country string `json:"country"`
		}
		if err := json.Unmarshal(it.Value, &u); err != nil || u.ID != it.ID || u.Amount < 5 || len(u.Country) != 2 {
			t.Fatalf("item %s: %s (%v)", it.ID, it.Value, err)
		}
		seen[it.ID] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different ids in 1,000 items", len(seen))
	}
	for range Items(1000, 3) {
		break // must not go on
	}
}
