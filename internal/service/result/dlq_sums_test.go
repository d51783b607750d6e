package result

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unique"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/records"
)

func every(unique.Handle[kind]) bool { return true }

// drawFailures draws a bulk action with some groups of failures.
func drawFailures(r *rand.Rand, id int) *failures {
	f := &failures{id: weir.BulkID(fmt.Sprintf("ba_%03d", id)), tenant: fmt.Sprint("t", r.IntN(2)), ended: r.IntN(4) > 0}
	for n := range 1 + r.IntN(3) {
		g := api.ErrorGroup{Step: "s", Code: fmt.Sprint("c", n), Count: int64(1 + r.IntN(3)), Example: string(f.id)}
		f.groups = append(f.groups, g)
		f.kinds = append(f.kinds, unique.Make(kind{tenant: f.tenant, step: g.Step, code: g.Code}))
	}
	return f
}

// What was added up as it changed is what is added up at once.
func TestSumsFollowChanges(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		k := known{parts: map[partOf]*knownPart{}}
		for step := range 60 {
			var c changes
			at := partOf{start: fmt.Sprint(r.IntN(4))}
			was := cmp.Or(k.parts[at], &knownPart{})
			now := &knownPart{lots: maps.Clone(was.lots)}
			if now.lots == nil || r.IntN(10) == 0 {
				now.lots = map[weir.BulkID]*failures{}
			}
			for range r.IntN(4) {
				f := drawFailures(r, r.IntN(10)+10*int(at.start[0]))
				now.lots[f.id] = f
			}
			c.replace(was.lots, now.lots)
			k.parts[at], k.lots = now, k.lots+len(now.lots)-len(was.lots)
			if len(k.newest) > 0 && r.IntN(3) == 0 {
				f := k.newest[r.IntN(len(k.newest))]
				all := noted{string(f.id): records.Entry[handled]{Value: handled{Taken: []taken{{Step: "s", Code: "c0", Items: int64(r.IntN(4))}}}}}
				if r.IntN(4) == 0 {
					all = noted{string(f.id): records.Entry[handled]{Value: handled{UndoneBy: "ba_x"}}}
				}
				for id := range k.noted {
					c.spoil(k.lot(id))
				}
				k.noted = all
				c.spoil(k.lot(string(f.id)))
			}
			k.settle(&c)
			want := sums{}
			for _, f := range k.newest {
				if f.ended {
					want.add(f, k.noted, every)
				}
			}
			if !reflect.DeepEqual(k.sums, want) || len(k.newest) != k.lots {
				t.Fatalf("seed %d, step %d: the sums are %v, want %v", seed, step, k.sums, want)
			}
		}
	}
}

func TestAnAnswerHasTheLargestGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	d := DLQ{Sees: func(string) bool { return true }}
	of := sums{}
	for i := range 300 {
		k := kind{tenant: fmt.Sprint("t", i)}
		of[unique.Make(k)] = &sum{api.DLQGroup{ErrorGroup: api.ErrorGroup{Count: int64(r.IntN(50))}, BulkActions: 1, Tenant: k.tenant}, "ba_a"}
	}
	all := d.answer(of, nil, nil, 300)
	if !slices.IsSortedFunc(all.Data, func(a, b api.DLQGroup) int { return largest(&a, &b) }) || len(all.Data) != 300 {
		t.Fatalf("%d groups are not in order", len(all.Data))
	}
	for _, limit := range []int{0, 1, 7, 299, 1000} {
		got := d.answer(of, nil, nil, limit)
		if got.Groups != 300 || got.Items != all.Items || !reflect.DeepEqual(got.Data, slices.Clip(all.Data[:min(limit, 300)])) && limit > 0 {
			t.Errorf("the %d largest are %v", limit, got)
		}
	}
}

func TestWhatIsOpenIsAddedToAnAnswerAlone(t *testing.T) {
	d := DLQ{Sees: func(string) bool { return true }}
	f := drawFailures(rand.New(rand.NewPCG(1, 1)), 1)
	of := sums{}
	of.add(f, nil, every)
	before := d.answer(of, nil, nil, 10)
	if both := d.answer(of, []*failures{f}, nil, 10); both.Items != 2*before.Items || both.Groups != before.Groups {
		t.Errorf("with as much again: %+v, before %+v", both, before)
	}
	if after := d.answer(of, nil, nil, 10); !reflect.DeepEqual(after, before) {
		t.Errorf("afterwards %+v, before %+v", after, before)
	}
}

func TestWhoeverHasNoTurnWaitsNoLongerThanItsContext(t *testing.T) {
	k := known{turn: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.lock(ctx); err == nil {
		t.Error("a turn was taken that another one has")
	}
}
