//go:build unix

package serverkill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

const (
	seed    = 5
	clients = 5
)

// Sizes of the runs; a variable makes them bigger, as in WEIR_SERVERKILL_KILLS=500.
const (
	envKills = "WEIR_SERVERKILL_KILLS"
	envUsers = "WEIR_SERVERKILL_USERS"
)

// size returns the value of a variable, or the default size; a short run is a third of it.
func size(t *testing.T, variable string, everyDay int) int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
		return n
	}
	if testing.Short() {
		return everyDay / 3
	}
	return everyDay
}

// A server that is killed at any moment loses nothing that it has acknowledged,
// half-accepts nothing, makes one bulk action for each time of a schedule, and
// tells of each end once.
func TestKilledAtAnyMomentTheServerKeepsItsWord(t *testing.T) {
	t.Parallel() // most of its time it waits
	kills := size(t, envKills, 27)
	w := newWorld(t)
	w.start()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+time.Duration(kills)*3*time.Second)
	defer cancel()
	hook := text(api.Webhook{URL: w.web.URL + "/told/hook", Events: []string{"bulk_action.completed", "bulk_action.cancelled", "bulk_action.failed"}})
	if err := w.post(ctx, "/v1/webhooks", "the-hook", hook, 201, nil); err != nil {
		t.Fatal(err)
	}
	w.hooked = true
	w.kill()

	began, told := time.Now(), make(chan *story, 100_000)
	over := make(chan struct{})
	var working sync.WaitGroup
	for c := range clients {
		working.Go(func() {
			for no := c; ; no += clients {
				select {
				case <-over:
					return
				default:
				}
				s, err := w.tell(ctx, no)
				if err != nil {
					t.Error(err)
					return
				}
				told <- s
			}
		})
	}
	w.killOften(kills, rand.New(rand.NewPCG(seed, uint64(kills))))
	killing := time.Since(began)
	w.start()
	close(over)
	working.Wait()
	close(told)
	var all []*story
	items, kinds := 0, map[string]int{}
	for s := range told {
		all = append(all, s)
		items += len(s.items)
		kinds[s.kind]++
	}
	err := w.judge(ctx, all)
	t.Logf("%d kills in %v, %d bulk actions of %d items (%v), judged after %v", kills, killing, len(all), items, kinds, time.Since(began)-killing)
	if err != nil {
		t.Errorf("%v\n%s", err, w.now.Stderr())
	}
	w.end()
}

// A server that is killed while it reads a long list goes on where it was: every
// user is in the report once.
func TestASegmentIsReadOnceThroughTwoDeaths(t *testing.T) {
	t.Parallel()
	users := size(t, envUsers, 40_000)
	w := newWorld(t)
	w.start()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+time.Duration(users/1000)*time.Second)
	defer cancel()
	s := &story{kind: "segment"}
	for i := range users {
		s.items = append(s.items, userID(i))
	}
	n := api.NewBulkAction{
		Name: "segment", Steps: steps(), Start: true, Callback: &api.Callback{URL: w.web.URL + "/told/callback"},
		Source: &api.Source{Segment: &api.SegmentSource{URL: fmt.Sprintf("%s/segments/%d", w.web.URL, users)}, PageSize: 1000},
	}
	var b api.BulkAction
	if err := w.post(ctx, bulkPath, "the-one", text(n), 201, &b); err != nil {
		t.Fatal(err)
	}
	s.bulk = b.ID
	for death := 1; death <= 2; death++ {
		for n := range w.pages.seen {
			if n >= death*users/1000/3 {
				break
			}
		}
		w.kill()
		w.start()
	}
	began := time.Now()
	err := w.judgeOne(ctx, s)
	t.Logf("%d users in %d pages, ended %v after the second death", users, w.pages.served, time.Since(began))
	if err != nil {
		t.Errorf("%v\n%s", err, w.now.Stderr())
	}
	w.end()
}
