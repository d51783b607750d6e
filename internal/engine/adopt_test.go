package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

// drafted is a chain for items as they are.
func drafted() weir.Chain[json.RawMessage, json.RawMessage] {
	return weir.Raw("c", weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "noop", BatchSize: 500,
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		}}))
}

// withDrafts has the sweep of a start leave what was set aside.
var withDrafts = engine.Options{Drafts: func(context.Context, weir.BulkID) (bool, error) { return true, nil }}

// between makes items from one number to another.
func between(from, to int) (items []weir.RawItem) {
	for i := from; i < to; i++ {
		items = append(items, weir.RawItem{ID: id(i), Value: json.RawMessage(fmt.Sprint(i))})
	}
	return items
}

// stage sets items aside in parts.
func stage(t testing.TB, r *rig, id weir.BulkID, rule weir.DuplicateRule, parts ...[]weir.RawItem) (stages []ingest.Stage) {
	t.Helper()
	for _, items := range parts {
		s, err := r.Intake().Stage(t.Context(), id, rule, engine.Items(items))
		must(t, err)
		stages = append(stages, s)
	}
	return stages
}

// putting counts the blocks of items that are written under the id of a bulk action.
type putting struct {
	store.Store
	own, all atomic.Int64
}

func (s *putting) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if first < filterBlocks {
		s.all.Add(int64(len(blocks)))
		if strings.HasPrefix(string(id), "ba_") {
			s.own.Add(int64(len(blocks)))
		}
	}
	return s.Store.PutBlocks(ctx, partition, id, first, blocks)
}

// wantRows checks that a bulk action has these items in this order, and that each is found by its id.
func wantRows(t *testing.T, b *engine.BulkAction, want []weir.RawItem) {
	t.Helper()
	rows := rowsOf(t, wait(t, b))
	if len(rows) != len(want) || b.Items() != int64(len(want)) {
		t.Fatalf("%d rows and %d items, want %d", len(rows), b.Items(), len(want))
	}
	for i, row := range rows {
		if row.ID != want[i].ID || string(row.Data) != string(want[i].Value) || row.No != int64(i) {
			t.Fatalf("row %d is %s %s, number %d; want %s %s", i, row.ID, row.Data, row.No, want[i].ID, want[i].Value)
		}
	}
	for i := 0; i < len(want); i += 1 + len(want)/20 {
		if f, err := b.ItemByID(t.Context(), want[i].ID); err != nil || f.No > int64(i) {
			t.Errorf("item %s is found at %d, %v", want[i].ID, f.No, err)
		}
	}
}

func TestADraftAdoptsBlocksAndWritesOnlyWhatItMustAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   weir.DuplicateRule
		canary *weir.Canary
		parts  [][]weir.RawItem
		own    int64 // blocks written by the seal
	}{
		{"full blocks and the rest of each append", weir.RefuseDuplicates, nil,
			[][]weir.RawItem{between(0, 2000), between(2000, 5000), between(5000, 5100), between(5100, 8000)}, 0},
		{"one append", weir.RefuseDuplicates, nil, [][]weir.RawItem{between(0, 10)}, 0},
		{"many small appends", weir.RefuseDuplicates, nil, small(0, 3000, 50), 3},
		{"small appends between large ones", weir.KeepFirst, nil,
			append(append([][]weir.RawItem{between(0, 2048)}, small(2048, 2248, 50)...), between(2248, 5000)), 1},
		{"an append twice", weir.KeepFirst, nil, [][]weir.RawItem{between(0, 3000), between(0, 3000)}, 0},
		{"one duplicate", weir.KeepFirst, nil, [][]weir.RawItem{between(0, 3000), slices.Concat(between(3000, 5000), between(7, 8), between(5000, 7000))}, 1},
		{"a canary of so many", weir.KeepAll, &weir.Canary{Items: 2500, Auto: true}, [][]weir.RawItem{between(0, 2048), between(2048, 5000)}, 2},
		{"a canary at the end of a block", weir.KeepAll, &weir.Canary{Items: 2048, Auto: true}, [][]weir.RawItem{between(0, 2048), between(2048, 5000)}, 0},
		{"a canary of a percentage", weir.KeepFirst, &weir.Canary{Percent: 10, Auto: true}, [][]weir.RawItem{between(0, 2048), between(2048, 5000)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &putting{Store: memory()}
				r := start(t, s, withDrafts, chain(drafted()))
				id, err := r.Intake().NewID(t.Context(), "t")
				must(t, err)
				stages := stage(t, r, id, tt.rule, tt.parts...)
				staged := s.all.Load()
				k := engine.Ticket{ID: id, Expected: int64(len(slices.Concat(tt.parts...)))}
				b, err := r.SubmitStaged(t.Context(), k, drafted().Definition(), stages, weir.Spec{Tenant: "t", Duplicates: tt.rule, Canary: tt.canary})
				must(t, err)
				if s.own.Load() != tt.own || s.all.Load() != staged+tt.own {
					t.Errorf("%d blocks were written by the seal, want %d", s.own.Load(), tt.own)
				}
				wantRows(t, b, kept(tt.rule, tt.parts))
			})
		})
	}
}

// small cuts items from one number to another into appends of so many.
func small(from, to, each int) (parts [][]weir.RawItem) {
	for ; from < to; from += each {
		parts = append(parts, between(from, min(from+each, to)))
	}
	return parts
}

// kept is what a rule keeps of items.
func kept(rule weir.DuplicateRule, parts [][]weir.RawItem) (items []weir.RawItem) {
	seen := map[string]bool{}
	for _, it := range slices.Concat(parts...) {
		if !seen[it.ID] || rule == weir.KeepAll {
			items = append(items, it)
		}
		seen[it.ID] = true
	}
	return items
}

func TestAnyDraftHasTheItemsOfItsAppendsInOrder(t *testing.T) {
	sizes := []int{1, 3, 40, 300, 511, 512, 700, 1023, 1024, 1025, 1500, 2048, 2600}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				rule := []weir.DuplicateRule{weir.RefuseDuplicates, weir.KeepFirst, weir.KeepAll}[rng.IntN(3)]
				var parts [][]weir.RawItem
				next := 0
				for range 1 + rng.IntN(8) {
					n := sizes[rng.IntN(len(sizes))]
					part := between(next, next+n)
					next += n
					if rule != weir.RefuseDuplicates && rng.IntN(2) == 0 { // some items of before among them
						for range 1 + rng.IntN(5) {
							part[rng.IntN(n)] = between(rng.IntN(next), next)[0]
						}
						if rule == weir.KeepFirst {
							part = kept(rule, [][]weir.RawItem{part})
						}
					}
					parts = append(parts, part)
				}
				want := kept(rule, parts)
				s := weir.Spec{Tenant: "t", Duplicates: rule}
				at := int64(0) // where it stops
				switch rng.IntN(3) {
				case 0:
					at = 1 + rng.Int64N(int64(len(want)))
					s.Canary = &weir.Canary{Items: at}
				case 1:
					s.Canary = &weir.Canary{Percent: 50}
					at = (int64(len(want)) + 1) / 2
				}
				r := start(t, memory(), withDrafts, chain(drafted()))
				id, err := r.Intake().NewID(t.Context(), "t")
				must(t, err)
				stages := stage(t, r, id, rule, parts...)
				k := engine.Ticket{ID: id, Expected: int64(len(slices.Concat(parts...)))}
				b, err := r.SubmitStaged(t.Context(), k, drafted().Definition(), stages, s)
				must(t, err)
				if at > 0 && at < int64(len(want)) {
					time.Sleep(time.Minute)
					is(t, b, weir.BulkAwaiting, at)
					must(t, b.Approve(t.Context(), ""))
				}
				wantRows(t, b, want)
				if all := int64(len(slices.Concat(parts...))); b.Items()+b.Duplicates() != all {
					t.Errorf("%d items and %d duplicates of %d", b.Items(), b.Duplicates(), all)
				}
			})
		})
	}
}

func TestAnIDOfAnEarlierAppendIsRefusedWithBothPlaces(t *testing.T) {
	for _, tt := range []struct {
		name        string
		parts       [][]weir.RawItem
		item, first int64
	}{
		{"in adopted blocks", [][]weir.RawItem{between(0, 2000), slices.Concat(between(2000, 3000), between(1500, 1501))}, 3001, 1501},
		{"in small ones", [][]weir.RawItem{between(0, 20), between(20, 40), slices.Concat(between(40, 50), between(25, 26))}, 51, 26},
		{"in the one before", [][]weir.RawItem{between(0, 20), slices.Concat(between(20, 40), between(3, 4))}, 41, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, memory(), withDrafts, chain(drafted()))
			id, err := r.Intake().NewID(t.Context(), "t")
			must(t, err)
			stages := stage(t, r, id, weir.RefuseDuplicates, tt.parts...)
			_, err = r.SubmitStaged(t.Context(), engine.Ticket{ID: id}, drafted().Definition(), stages, weir.Spec{Tenant: "t"})
			var twice *weir.DuplicateError
			if !errors.As(err, &twice) || twice.Item != tt.item || twice.First != tt.first {
				t.Errorf("error = %v; want that item %d has the id of item %d", err, tt.item, tt.first)
			}
		})
	}
}

// ownersOf lists all names under which a store has blocks.
func ownersOf(t *testing.T, s store.Store, partitions int) (names []weir.BulkID) {
	t.Helper()
	for p := range partitions {
		owners, err := s.BlockOwners(t.Context(), p)
		must(t, err)
		names = append(names, owners...)
	}
	slices.Sort(names)
	return names
}

func TestASealIsWholeWhereverAProcessDies(t *testing.T) {
	parts := [][]weir.RawItem{between(0, 1500), between(1500, 1520), slices.Concat(between(1520, 2700), between(5, 9)), between(2700, 4000)}
	for step, over := 0, false; !over; step++ {
		synctest.Test(t, func(t *testing.T) { over = dieAt(t, step, parts) })
		if over && step < 8 {
			t.Errorf("a seal has %d calls of the store, want some to die at", step)
		}
	}
}

// dieAt has a process die at a call of the store in a seal, and another do it again. It reports whether the seal had
// fewer calls.
func dieAt(t *testing.T, step int, parts [][]weir.RawItem) (over bool) {
	m := memory()
	var calls, on atomic.Int64
	s := &storetest.Flaky{Store: m, Fail: func(storetest.Call) storetest.Fault {
		if on.Load() == 0 || calls.Add(1) <= int64(step) {
			return storetest.Fault{}
		}
		if calls.Load() == int64(step)+1 && step%2 == 1 {
			return storetest.Fault{Lost: true} // it took effect
		}
		return storetest.Fault{Before: errStore}
	}}
	draft := true
	o := engine.Options{Drafts: func(context.Context, weir.BulkID) (bool, error) { return draft, nil }}
	r := open(t, s, o, chain(drafted())) // does not run: the calls are those of the seal
	id, err := r.Intake().NewID(t.Context(), "t")
	must(t, err)
	stages := stage(t, r, id, weir.KeepFirst, parts...)
	stage(t, r, id, weir.KeepFirst, between(0, 3000)) // an append that no record names
	spec := weir.Spec{Tenant: "t", Duplicates: weir.KeepFirst}
	on.Store(1)
	_, err = r.SubmitStaged(t.Context(), engine.Ticket{ID: id}, drafted().Definition(), stages, spec)
	on.Store(0)
	over = err == nil && calls.Load() <= int64(step)

	r = start(t, m, o, chain(drafted()))
	time.Sleep(time.Minute) // its sweep leaves what the draft has, whether or not it was accepted
	b, err := r.SubmitStaged(t.Context(), engine.Ticket{ID: id}, drafted().Definition(), stages, spec)
	must(t, err)
	for _, st := range stages {
		if !b.Adopts(st) {
			must(t, r.Intake().DropStage(t.Context(), st))
		}
	}
	wantRows(t, b, kept(weir.KeepFirst, parts))
	must(t, r.stop())
	draft = false
	r = start(t, m, o, chain(drafted()))
	time.Sleep(time.Minute)
	want := []weir.BulkID{id}
	for _, st := range stages {
		if b.Adopts(st) {
			want = append(want, weir.BulkID(st.ID))
		}
	}
	slices.Sort(want)
	if got := ownersOf(t, m, 2); !slices.Equal(got, want) {
		t.Errorf("step %d: blocks of %v are left, want %v", step, got, want)
	}
	b, err = r.Get(t.Context(), id)
	must(t, err)
	wantRows(t, b, kept(weir.KeepFirst, parts))
	must(t, r.stop())
	return over
}

func TestAdoptedBlocksAreRemovedWithTheirBulkAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory()
		r := start(t, s, engine.Options{KeepFor: keptFor}, chain(drafted()))
		id, err := r.Intake().NewID(t.Context(), "t")
		must(t, err)
		stages := stage(t, r, id, weir.KeepAll, between(0, 1500), between(1500, 4000))
		b, err := r.SubmitStaged(t.Context(), engine.Ticket{ID: id}, drafted().Definition(), stages, weir.Spec{Tenant: "t"})
		must(t, err)
		wait(t, b)
		if got := ownersOf(t, s, 2); len(got) != 3 { // and the id, for its filters
			t.Fatalf("blocks of %v are there, want those of two stages and of the id", got)
		}
		time.Sleep(keptFor + 90*time.Second)
		if got := ownersOf(t, s, 2); len(got) > 0 {
			t.Errorf("blocks of %v are left", got)
		}
	})
}

func TestAdoptedBlocksAreRepairedWhenTheStoreIsSetBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		save time.Duration // after the first append
	}{{"to before the appends", -1}, {"to between the appends", time.Second}, {"to before the seal", 3 * time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTimeMachine()
				r := start(t, s, one, chain(drafted()))
				time.Sleep(time.Second)
				id, err := r.Intake().NewID(t.Context(), "t")
				must(t, err)
				moment := s.Save()
				at := func(d time.Duration) {
					if tt.save == d {
						moment = s.Save()
					}
				}
				parts := [][]weir.RawItem{between(0, 1500), between(1500, 4000)}
				stages := stage(t, r, id, weir.KeepAll, parts[0])
				time.Sleep(time.Second)
				at(time.Second)
				stages = append(stages, stage(t, r, id, weir.KeepAll, parts[1])...)
				time.Sleep(2 * time.Second)
				at(3 * time.Second)
				b, err := r.SubmitStaged(t.Context(), engine.Ticket{ID: id}, drafted().Definition(), stages, weir.Spec{Tenant: "t", StartAt: time.Now().Add(20 * time.Second)})
				must(t, err)
				time.Sleep(time.Second)
				s.Restore(moment)
				time.Sleep(time.Minute)
				wantRows(t, b, slices.Concat(parts...))
				if err := r.Health(); err != nil {
					t.Errorf("Health() = %v, want nil", err)
				}
			})
		})
	}
}
