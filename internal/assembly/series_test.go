package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// paced is an action with a rate, and the log of its calls that its downstream keeps.
type paced struct {
	mu    sync.Mutex
	calls map[time.Time]int64
}

// step returns the action: 60 items a second in calls of 10.
func (p *paced) step() weir.Step {
	p.calls = map[time.Time]int64{}
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "push", BatchSize: 10, Resource: weir.Resource{Name: "push", Rate: weir.PerSecond(60)},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			time.Sleep(100 * time.Millisecond)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.calls[time.Now()] += int64(b.Len())
			b.DoneRest()
			return nil
		}})
}

// between returns how many items were done after one time and until another.
func (p *paced) between(from, to time.Time) (n float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, items := range p.calls {
		if at.After(from) && !at.After(to) {
			n += float64(items)
		}
	}
	return n
}

// slack is how far a step of a series may be from the log: two calls, and what waits for a commit.
const slack = 25

// check compares a series with the log: no step is above the limit, and those that are whole show what the log shows.
func (p *paced) check(t *testing.T, name string, s *api.Timeline, done api.Column, missed func(from, to time.Time) bool) {
	t.Helper()
	for i, rate := range s.PerSecond(done) {
		from, to := s.At(i), s.At(i+1)
		if to.After(s.End) {
			to = s.End
		}
		if rate == nil {
			continue
		}
		if length := time.Duration(s.Step).Seconds(); *rate > 60+slack/length {
			t.Errorf("%s: step %d of %d (%v to %v) shows %.1f/s of at most 60/s", name, i, s.Points, from.Format("05.000"), to.Format("05.000"), *rate)
		}
		if want := p.between(from, to); (*done[i] < want-slack || *done[i] > want+slack) && !missed(from, to) {
			t.Errorf("%s: step %d of %d (%v to %v) shows %v items, the log has %v", name, i, s.Points, from.Format("05.000"), to.Format("05.000"), *done[i], want)
		}
	}
}

// slowSeries is a store that takes its time to write series while slow is set.
type slowSeries struct {
	store.Store
	mu   sync.Mutex
	slow time.Duration
	dead bool // nothing is written any more
}

// die has the store refuse further series, as if the node were killed.
func (s *slowSeries) die() {
	s.mu.Lock()
	s.dead = true
	s.mu.Unlock()
}

func (s *slowSeries) take(d time.Duration) {
	s.mu.Lock()
	s.slow = d
	s.mu.Unlock()
}

func (s *slowSeries) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	s.mu.Lock()
	d, dead := s.slow, s.dead
	s.mu.Unlock()
	if dead && strings.HasPrefix(name, "series/") {
		return nil, errors.New("killed")
	}
	if d > 0 && strings.HasPrefix(name, "series/") {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.Swap(ctx, name, old, value)
}

// A limit of 60/s never shows as more: whenever the bulk action begins, however late a sample is made, and after a restart.
func TestASeriesShowsWhatTheDownstreamSaw(t *testing.T) {
	for _, offset := range []time.Duration{0, 3 * time.Second, 7300 * time.Millisecond} {
		for name, slow := range map[string]time.Duration{"in time": 0, "late samples": 7 * time.Second, "missed samples": 9900 * time.Millisecond} {
			t.Run(fmt.Sprintf("begins after %v, %s", offset, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var p paced
					m := memstore.New(memstore.Options{})
					defer func() { _ = m.Close() }()
					st := &slowSeries{Store: m}
					q := startQuiet(t, st, p.step())
					time.Sleep(20*time.Second + offset)
					id := q.submit("push", "", 60*68, "1")
					time.Sleep(25 * time.Second)
					st.take(slow)
					time.Sleep(20 * time.Second)
					st.take(0)
					time.Sleep(15 * time.Second)
					exact := func(from, to time.Time) bool { return slow > 0 }
					checkBulk := func(when string) {
						own, err := q.Series.Bulk(t.Context(), id)
						if err != nil {
							t.Fatal(err)
						}
						p.check(t, "bulk action "+when, &own.Timeline, own.Done, exact)
					}
					checkBulk("while it runs")
					time.Sleep(time.Minute)
					checkBulk("at its end")
					for _, resource := range []string{"", "push"} {
						all, err := q.Series.Hour(t.Context(), resource)
						if err != nil {
							t.Fatal(err)
						}
						p.check(t, "hour of "+resource, &all.Timeline, all.Done, exact)
						if all.Done.Sum() != 60*68 {
							t.Errorf("the hour of %q has %v items, want %d", resource, all.Done.Sum(), 60*68)
						}
					}
					time.Sleep(10 * time.Minute)
					day, err := q.Series.Day(t.Context(), "")
					if err != nil || day.Done.Sum() != 60*68 {
						t.Errorf("the day has %v items (%v)", day.Done.Sum(), err)
					}
					p.check(t, "day", &day.Timeline, day.Done, exact)
				})
			})
		}
	}
}

// A node that is killed has stored all but the last three seconds of its counts, whenever that is.
func TestAKilledNodeLosesAtMostThreeSecondsOfItsCounts(t *testing.T) {
	for _, after := range []time.Duration{9 * time.Second, 14 * time.Second, 19900 * time.Millisecond} {
		t.Run(fmt.Sprintf("killed after %v", after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p paced
				m := memstore.New(memstore.Options{})
				defer func() { _ = m.Close() }()
				st := &slowSeries{Store: m}
				q := startQuiet(t, st, p.step())
				time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(10 * time.Second)))
				q.submit("push", "", 60*25, "1")
				began := time.Now()
				time.Sleep(after)
				st.die()
				killed := time.Now()
				time.Sleep(30 * time.Second)
				all, err := q.Series.Hour(t.Context(), "")
				if want := p.between(began, killed.Add(-3*time.Second)); err != nil || want == 0 || all.Done.Sum() < want {
					t.Errorf("the hour has %v items, want the %v that were done 3 s before the node was killed (%v)", all.Done.Sum(), want, err)
				}
			})
		})
	}
}
