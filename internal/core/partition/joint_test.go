package partition

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirhq/weir"
)

// wantJoints checks that each bulk action is found in exactly one way, and that joint filters know what is left of them.
func (b *bench) wantJoints() (joints int) {
	b.t.Helper()
	all, err := Joints(b.rows)
	if err != nil {
		b.t.Fatal(err)
	}
	left, leftItems := map[weir.BulkID]int{}, map[weir.BulkID]int{}
	err = EachBulk(b.rows, "", func(id weir.BulkID) error {
		spec, err := ReadSpec(b.rows, id)
		if err != nil {
			return err
		}
		row, joined := b.rows[string(termKey(JoinedTerm(), id))]
		if _, unlisted := b.rows[string(termKey(UnlistedTerm(), id))]; unlisted == joined {
			b.t.Errorf("%s is unlisted: %t, joined: %t", id, unlisted, joined)
		}
		if !joined {
			return nil
		}
		raw, err := unseal(termKey(JoinedTerm(), id), row)
		if err != nil {
			return err
		}
		name := weir.BulkID(raw)
		members, err := Members(b.rows, []weir.BulkID{name})
		if err != nil || !slices.Contains(members[0], id) {
			b.t.Errorf("%s should be in %s, which has %v, %v", id, name, members, err)
		}
		left[name]++
		leftItems[name] += int(spec.Items)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, j := range all {
		if j.Left == 0 || j.Left != left[j.Name] || j.LeftItems != leftItems[j.Name] {
			b.t.Errorf("%+v, and it has %d members of %d items", j, left[j.Name], leftItems[j.Name])
		}
		delete(left, j.Name)
	}
	if len(left) > 0 {
		b.t.Errorf("members of joint filters that are not there: %v", left)
	}
	if n := len(b.rows.withKind(kindMembers)); n != len(all) {
		b.t.Errorf("%d lists of members for %d joint filters", n, len(all))
	}
	return len(all)
}

func (m memory) withKind(kind byte) (keys []string) {
	for k := range m {
		if k[0] == kind {
			keys = append(keys, k)
		}
	}
	return keys
}

// endedLong adds the rows of a bulk action that has ended.
func (b *bench) endedLong(id weir.BulkID, items int64) {
	c := &Created{ID: id, Tenant: "t", Items: items, Sizes: []uint16{1}}
	s := &Status{State: weir.BulkCompleted, Finished: b.now}
	for _, r := range append(IndexRows(c, s), SealJSON(specKey(id), c), SealJSON(statusKey(id), s)) {
		b.rows[string(r.Key)] = r.Value
	}
}

// step has the machine commit a step, and dies sometimes before or after it is written.
func (b *bench) step(r *rand.Rand, x *Removal) (written bool) {
	b.t.Helper()
	b.m.Remove(x)
	if b.advance(); b.flying == nil {
		b.t.Fatal("a step makes no commit")
	}
	switch r.IntN(5) {
	case 0:
		b.reload()
		return false
	case 1:
		b.rows.apply(b.flying)
		b.number = b.flying.Number
		b.reload()
	default:
		b.commit()
		b.advance()
	}
	return true
}

func TestEachBulkActionIsFoundByOneFilterWhateverHappens(t *testing.T) {
	most := 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t)
		b.node = "node"
		var kept []weir.BulkID
		made := 0
		for range 40 {
			switch n := r.IntN(10); {
			case n < 5:
				for range r.IntN(30) {
					id := weir.BulkID(fmt.Sprintf("ba_%05d", made))
					b.endedLong(id, 1+r.Int64N(2)*r.Int64N(mostOfJoined))
					kept = append(kept, id)
					made++
				}
			case n < 8:
				plan, err := NextJoint(b.rows)
				if err != nil {
					t.Fatal(err)
				}
				if plan == nil {
					continue
				}
				members := slices.DeleteFunc(slices.Clone(plan.Of), func(*Created) bool { return r.IntN(40) == 0 }) // damaged
				if plan.Enough(members) {
					b.step(r, plan.Done(JointName(fmt.Sprint(r.Uint64())), members))
				}
			default:
				for range r.IntN(min(len(kept), 30) + 1) {
					i := r.IntN(min(len(kept), 20)) // old ones go first, mostly
					for last := false; !last; {
						x, err := NextRemoval(b.now, b.rows, kept[i])
						if err != nil {
							t.Fatal(err)
						}
						last = b.step(r, x) && x.Last
					}
					kept = slices.Delete(kept, i, i+1)
				}
			}
			most = max(most, b.wantJoints())
		}
		for _, id := range kept {
			for last := false; !last; {
				x, err := NextRemoval(b.now, b.rows, id)
				if err != nil {
					t.Fatal(err)
				}
				last = b.step(r, x) && x.Last
			}
		}
		if n := b.wantJoints(); n > 0 || len(b.rows.index()) > 0 {
			t.Errorf("seed %d: %d joint filters are left, and of the index %d rows", seed, n, len(b.rows.index()))
		}
	}
	if most < 4 {
		t.Errorf("at most %d joint filters at a time: the test shows little", most)
	}
}

// TestThereAreFewJointFilters: as bulk actions come, small filters become one.
func TestThereAreFewJointFilters(t *testing.T) {
	b := newBench(t)
	written := 0
	const n = 600
	for i := range n {
		b.endedLong(weir.BulkID(fmt.Sprintf("ba_%05d", i)), 20)
		plan, err := NextJoint(b.rows)
		if err != nil {
			t.Fatal(err)
		}
		if plan == nil {
			continue
		}
		written += len(plan.Of)
		b.m.Remove(plan.Done(JointName(fmt.Sprintf("%05d", i)), plan.Of))
		b.advance()
		b.commit()
		b.advance()
		if all := len(b.rows.withKind(kindJoint)); all > i/128+manySmall {
			t.Fatalf("%d joint filters of %d bulk actions", all, i)
		}
	}
	t.Logf("each bulk action was joined %.1f times", float64(written)/n)
	if written > 5*n {
		t.Errorf("each bulk action was joined %.1f times", float64(written)/n)
	}
}
