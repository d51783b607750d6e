package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// ungrouped is a store as an older version left it: without counts of failures by group.
type ungrouped struct{ store.Store }

func (s ungrouped) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	older := *b
	older.Set = slices.DeleteFunc(slices.Clone(b.Set), func(r store.Row) bool { return r.Key[0] == 'f' })
	return s.Store.Commit(ctx, partition, tok, &older)
}

// scanning counts the rows of blocks and results that are read.
type scanning struct {
	store.Store
	rows int
}

func (s *scanning) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	return s.Store.Scan(ctx, partition, prefix, func(key, value []byte) error {
		s.rows++
		return yield(key, value)
	})
}

// faulty fails three items of ten: one for one reason, and two for another.
func faulty() weir.Action[int, string] {
	return each("step", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		switch it.Value % 10 {
		case 3, 8:
			b.Fail(i, "closed", fmt.Errorf("account %d is closed", it.Value))
		case 5:
			b.Fail(i, "late", errors.New("too late"))
		default:
			b.Done(i, "")
		}
	})
}

func TestErrorGroupsAreExactWhoeverHasCountedThem(t *testing.T) {
	for name, older := range map[string]bool{"counted as they came": false, "left by an older version": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memory()
				var s store.Store = &scanning{Store: mem}
				if older {
					s = ungrouped{mem}
				}
				began := time.Now()
				r := start(t, s, engine.Options{}, action(faulty()))
				b := submit(t, r, spec(faulty()), numbers(5000))
				rep := wait(t, b)
				if sc, ok := s.(*scanning); ok {
					sc.rows = 0
					defer func() {
						if sc.rows > 10 {
							t.Errorf("%d rows were read for two groups", sc.rows)
						}
					}()
				}
				got, err := b.ErrorGroups(t.Context())
				if err != nil || len(got) != 2 {
					t.Fatalf("ErrorGroups = %+v, %v; want two", got, err)
				}
				for i := range got {
					if got[i].First.Before(began) || got[i].Last.Before(got[i].First) || got[i].Last.Sub(began) > time.Minute {
						t.Errorf("group %d: from %v to %v, want times after %v", i, got[i].First, got[i].Last, began)
					}
					got[i].First, got[i].Last = time.Time{}, time.Time{}
				}
				want := []weir.ErrorGroup{
					{Step: "step", Code: "closed", Message: "account <n> is closed", Count: 1000, Item: 3, Sample: "account 3 is closed"},
					{Step: "step", Code: "late", Message: "too late", Count: 500, Item: 5, Sample: "too late"},
				}
				if !slices.Equal(got, want) {
					t.Errorf("ErrorGroups = %+v, want %+v", got, want)
				}
				if want := (report.Sample{ID: id(3), Message: "account 3 is closed"}); len(rep.Errors) != 2 || rep.Errors[0].Sample != want {
					t.Errorf("the report has %+v, want two groups, the first of %+v", rep.Errors, want)
				}
			})
		})
	}
}

func TestManyKindsOfFailureAreAHundredGroupsAndTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := each("step", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			b.Fail(i, fmt.Sprintf("code-%d", it.Value%250), errors.New("no"))
		})
		r := start(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		rep := wait(t, b)
		if err := rep.Summary.Check(); err != nil {
			t.Error(err)
		}
		got, err := b.ErrorGroups(t.Context())
		if err != nil || len(got) != 101 {
			t.Fatalf("%d groups, %v; want 101", len(got), err)
		}
		if first := got[0]; !first.Other || first.Count != 600 {
			t.Errorf("the largest group is %+v, want 600 others", first)
		}
	})
}

func TestErrorGroupsOfABulkActionInWhichNothingFailed(t *testing.T) {
	r := start(t, memory(), engine.Options{}, action(noop("step")))
	b := submit(t, r, spec(noop("step")), numbers(10))
	wait(t, b)
	if got, err := b.ErrorGroups(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("ErrorGroups = %+v, %v; want none", got, err)
	}
}

// word is a text that differs for each number, and has nothing in it that groups leave out.
func word(n int) string {
	text := []byte{}
	for range 5 {
		text, n = append(text, byte('a'+n%26)), n/26
	}
	return string(text)
}

// mixed fails items for one frequent reason, for forty reasons that come now and
// then, and for thousands that come once. The ones that come once push the others out.
func mixed(items int) weir.Action[int, string] {
	return weir.Action[int, string]{Name: "mixed", BatchSize: 500, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		for i, it := range b.Items() {
			switch v := it.Value; {
			case v < 200 || v%(items/2000) == 0:
				b.Fail(i, "odd", errors.New("odd one "+word(v)))
			case v%(items/5000) == 1:
				b.Fail(i, "closed", errors.New("account is closed"))
			case v%(items/800) == 2:
				b.Fail(i, "kind", errors.New("of kind "+word(v/(items/800)%40)))
			default:
				b.Done(i, "")
			}
		}
		return nil
	}}
}

// Counts that are shown at the end are those of the rows, however many kinds of
// messages there were, in several partitions.
func TestCountsOfErrorGroupsAreThoseOfTheRows(t *testing.T) {
	for name, items := range map[string]int{"one partition": 50_000, "several shards": 260_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory()
				r := start(t, s, sharedOptions, action(mixed(items)))
				b := submit(t, r, spec(mixed(items)), numbers(items))
				rep := wait(t, b)
				if n := len(workers(t, s, b.ID())); (n > 1) != (items > 250_000) {
					t.Fatalf("%d partitions have worked on it", n)
				}
				rows, failed := map[string]int64{}, int64(0)
				for row, err := range rep.Rows(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if row.State == report.StateFailed {
						rows[row.Code+row.Message]++
						failed++
					}
				}
				groups, err := b.ErrorGroups(t.Context())
				if err != nil || len(groups) != 101 {
					t.Fatalf("%d groups, %v; want a hundred and the others", len(groups), err)
				}
				sum, kinds := int64(0), 0
				for i, g := range groups {
					if sum += g.Count; !g.Other && (g.Count != rows[g.Code+g.Message] || g.Missed != 0) {
						t.Errorf("group %q has %d and %d missed, the rows have %d", g.Message, g.Count, g.Missed, rows[g.Code+g.Message])
					}
					if g.Code == "kind" {
						kinds++
					}
					if rep.Errors[i].Count != g.Count {
						t.Errorf("group %q has %d in the report, want %d", g.Message, rep.Errors[i].Count, g.Count)
					}
				}
				if sum != failed || kinds != 40 || groups[0].Code != "closed" {
					t.Errorf("the groups have %d items and %d kinds, want %d and 40; the first is %q", sum, kinds, failed, groups[0].Code)
				}
			})
		})
	}
}
