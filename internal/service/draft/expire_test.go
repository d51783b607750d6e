package draft

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/stored"
)

// draftOf makes a draft with an item that was touched so long ago.
func draftOf(t *testing.T, s *Drafts, ago time.Duration) string {
	t.Helper()
	id, _, err := s.Create(t.Context(), stored.Spec{Steps: []stored.Step{{Action: "award"}}}, Made{})
	if err != nil {
		t.Fatal(err)
	}
	items := func(yield func(weir.RawItem, error) bool) { yield(weir.RawItem{ID: "a", Value: []byte(`{}`)}, nil) }
	if _, _, err := s.Append(t.Context(), id, "k", Rows{Items: items, Bad: func() int64 { return 0 }, Digest: sha256.New()}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.drafts.Update(t.Context(), id, func(d *Draft) error { d.Touched = time.Now().Add(-ago); return nil }); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestADraftThatNobodyTouchesForAWeekIsRemoved(t *testing.T) {
	s := open(t)
	young, old := draftOf(t, s, draftFor-time.Hour), draftOf(t, s, draftFor+time.Minute)
	runs(t, func(ctx context.Context) { s.Run(ctx) })
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if _, err := s.Get(t.Context(), old); errors.Is(err, weir.ErrNotFound) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the draft is still there")
		}
	}
	if n := entriesOf(t, s, old); n != 0 {
		t.Errorf("%d entries of its log are left", n)
	}
	if sum, err := s.Sum(t.Context(), young); err != nil || sum.Items != 1 {
		t.Errorf("Sum of the younger one = %+v, %v", sum, err)
	}
	if n := entriesOf(t, s, young); n != 1 {
		t.Errorf("the younger one has %d entries in its log, want 1", n)
	}
}

// entriesOf counts what the log of a draft has.
func entriesOf(t *testing.T, s *Drafts, id string) (n int) {
	t.Helper()
	for _, err := range s.parts.All(context.WithoutCancel(t.Context()), id+"/") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestTheLogOfASealedDraftIsKeptForRepeatsAndThenRemoved(t *testing.T) {
	s := open(t)
	id, open := draftOf(t, s, 0), draftOf(t, s, 0)
	if _, err := s.Seal(t.Context(), id, api.Seal{}); err != nil {
		t.Fatal(err)
	}
	if err := s.sweepLogs(t.Context(), time.Now().Add(-appendsFor)); err != nil {
		t.Fatal(err)
	}
	if known, err := s.KnowsAppend(t.Context(), id, "k"); !known || err != nil {
		t.Errorf("KnowsAppend after the seal = %v, %v", known, err)
	}
	if err := s.sweepLogs(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, m := entriesOf(t, s, id), entriesOf(t, s, open); n != 0 || m != 1 {
		t.Errorf("%d entries of the old log are left, and %d of the open draft; want 0 and 1", n, m)
	}
}

func TestAnAppendThatMeetsTheSealIsNotAcceptedAndLost(t *testing.T) {
	s := open(t)
	id := draftOf(t, s, 0)
	items := func(yield func(weir.RawItem, error) bool) {
		if _, err := s.Seal(t.Context(), id, api.Seal{}); err != nil { // while the items arrive
			t.Error(err)
		}
		yield(weir.RawItem{ID: "late", Value: []byte(`{}`)}, nil)
	}
	out, _, err := s.Append(t.Context(), id, "", Rows{Items: items, Bad: func() int64 { return 0 }})
	if !isCode(err, "sealed") {
		t.Errorf("Append = %+v, %v; want sealed", out, err)
	}
}
