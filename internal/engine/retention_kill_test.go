//go:build unix

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv/life"
	"github.com/weirhq/weir/store"
)

const (
	envKept      = "WEIR_RETENTION_DIR"
	envKeptLife  = "WEIR_RETENTION_LIFE"
	expiring     = 60   // bulk actions that are removed
	expiringSize = 1200 // items of each: two blocks
	expiringFor  = time.Minute
)

// A kill -9 while bulk actions are removed, or in the first life while their filters are joined, leaves each of them
// either whole or gone, and the next life goes on with it. The lives run in bubbles, each an
// hour later than the one before: so they need not wait for what they keep to be over.
func TestKilledWhileItRemovesNothingHalfRemovedIsShown(t *testing.T) {
	dir, kills := t.TempDir(), 6
	if testing.Short() {
		kills = 3
	}
	random := rand.New(rand.NewPCG(killSeed, uint64(kills)))
	begin := func(n int) *life.Process {
		return life.Start(t, "TestRetentionChild", envKept+"="+dir, envKeptLife+"="+strconv.Itoa(n))
	}
	halfway, seen := 0, []string{}
	for n := range kills {
		c, half := begin(n), "dropping"
		if n == 0 {
			half = "joining"
		}
		found, err := c.Await("found")
		for range 1 + random.IntN(3) {
			if err == nil {
				_, err = c.Await(half)
			}
		}
		<-time.After(time.Duration(random.IntN(4000)) * time.Microsecond)
		if err != nil || c.Kill() != nil { // it was quicker than we are
			if err := c.Wait(); err != nil {
				t.Fatalf("life %d: %v", n, err)
			}
			break
		}
		if seen = append(seen, found); found != "0" {
			halfway++
		}
	}
	last := begin(kills)
	if err := last.Wait(); err != nil {
		t.Errorf("the last life: %v", err)
	}
	t.Logf("gone when each life began: %v of %d", seen, expiring)
	if halfway == 0 {
		t.Errorf("no life was killed in the midst of it: %v", seen)
	}
}

// TestRetentionChild is not a test of its own: it is what the test above kills,
// and does nothing in any other process.
func TestRetentionChild(t *testing.T) {
	dir := os.Getenv(envKept)
	if dir == "" {
		return
	}
	n, err := strconv.Atoi(os.Getenv(envKeptLife))
	must(t, err)
	synctest.Test(t, func(t *testing.T) { keepAndRemove(t, dir, n) })
	if t.Failed() {
		os.Exit(1)
	}
}

// telling says when blocks are about to be removed, or the pages of a joint filter to be written: that is half done then.
type telling struct{ store.Store }

func (s telling) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if strings.HasPrefix(string(id), "jf_") {
		say("joining", id)
		defer say("joining", id)
	}
	return s.Store.PutBlocks(ctx, partition, id, first, blocks)
}

func (s telling) DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error {
	say("dropping", id)
	return s.Store.DeleteBlocks(ctx, partition, id)
}

// keepAndRemove is one life: everything is whole or gone at its beginning, and gone at its end.
func keepAndRemove(t *testing.T, dir string, n int) {
	time.Sleep(time.Duration(n) * time.Hour)
	s := disk(t, dir)
	r := start(t, telling{s}, engine.Options{KeepFor: expiringFor}, action(faulty()))
	gone := 0
	var ids []weir.BulkID
	for i := range expiring {
		b := wholeOrGone(t, r, i)
		if b == "" {
			gone++
			continue
		}
		ids = append(ids, b)
	}
	found := bulksOf(foundAs(t, r, id(7), engine.LookupOptions{}))
	if slices.Sort(found); !slices.Equal(found, slices.Sorted(slices.Values(ids))) {
		t.Errorf("an item is found in %d bulk actions, want %d", len(found), len(ids))
	}
	say("found", gone)
	time.Sleep(expiringFor + 2*time.Minute)
	for _, id := range ids {
		if got := left(t, s, 2, id); got != "x" {
			t.Errorf("rows of kinds %q are left of %s, want a tombstone alone", got, id)
		}
	}
	for i := range expiring {
		if id := wholeOrGone(t, r, i); id != "" {
			t.Errorf("%s is still there", id)
		}
	}
	for p := range 2 {
		if owners, err := s.BlockOwners(t.Context(), p); err != nil || len(owners) > 0 {
			t.Errorf("partition %d has blocks of %v, %v", p, owners, err)
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	must(t, s.Close())
}

// wholeOrGone looks at a bulk action from all sides. Its id is empty if it is gone.
func wholeOrGone(t *testing.T, r *rig, no int) weir.BulkID {
	t.Helper()
	keyed := spec(faulty())
	keyed.IdempotencyKey = fmt.Sprint("expiring-", no)
	b, err := attempt(t.Context(), r.Engine, keyed, engine.Items(numbers(expiringSize)))
	var expired *weir.ExpiredError
	if errors.As(err, &expired) {
		b, err := r.Get(t.Context(), expired.ID)
		if !errors.Is(err, weir.ErrExpired) {
			t.Errorf("%s is gone for who submits it again, and is %v, %v", expired.ID, b, err)
		}
		for x, err := range r.List(t.Context()) {
			if err != nil || x.ID() == expired.ID {
				t.Errorf("%s is gone, and listed: %v", expired.ID, err)
			}
		}
		return ""
	}
	must(t, err)
	rep := wait(t, b) // whose rows match the counts
	wantCounts(t, rep, expiringSize*7/10, expiringSize*3/10, 0)
	if f, err := b.ItemByID(t.Context(), id(expiringSize-1)); err != nil {
		t.Errorf("the last item of %s: %+v, %v", b.ID(), f, err)
	}
	return b.ID()
}
