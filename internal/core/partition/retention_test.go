package partition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

func never(weir.BulkID) bool { return false }

// ended runs a bulk action of so many blocks of two items to its end.
func (b *bench) endedBulk(id weir.BulkID, blocks int) {
	b.t.Helper()
	b.chains["c"] = steps(1, 2)
	b.message(envelope{Created: &Created{
		ID: id, Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: int64(2 * blocks), Sizes: slices.Repeat([]uint16{2}, blocks),
	}})
	for tasks := b.settle(); len(tasks) > 0; tasks = b.settle() {
		for _, task := range tasks {
			b.m.Result(b.now, &Result{Task: task, Outcomes: b.failing(task)})
		}
	}
}

// of lists the kinds of the rows that belong to a bulk action. Marks are of all whose ids start alike.
func (m memory) of(id weir.BulkID) string {
	kinds := map[byte]bool{}
	for key := range m {
		if strings.HasPrefix(key[1:], string(id)) && key[0] != kindMark {
			kinds[key[0]] = true
		}
	}
	return string(slices.Sorted(maps.Keys(kinds)))
}

// remove takes the next step of a removal as far as the commit.
func (b *bench) remove(id weir.BulkID) *Removal {
	b.t.Helper()
	r, err := NextRemoval(b.now, b.rows, id)
	if err != nil {
		b.t.Fatal(err)
	}
	b.m.Remove(r)
	if b.advance(); b.flying == nil {
		b.t.Fatal("a removal makes no commit")
	}
	if n := len(b.flying.Delete); n > removeRows {
		b.t.Errorf("a commit removes %d rows, want at most %d", n, removeRows)
	}
	return r
}

func TestABulkActionIsRemovedInStepsThatSurviveCrashes(t *testing.T) {
	b := newBench(t)
	b.endedBulk("ba_a", 10)
	b.endedBulk("ba_b", 700)
	b.endedBulk("ba_c", 10)
	others := b.rows.of("ba_a") + b.rows.of("ba_c")
	_, status, err := ReadStatus(b.rows, "ba_b")
	if err != nil {
		t.Fatal(err)
	}
	commits := 0
	for last := false; !last; commits++ {
		r := b.remove("ba_b")
		switch commits % 3 {
		case 0: // it dies before the commit is written
			b.reload()
			if commits == 0 {
				continue
			}
		case 1: // it dies after the commit, and before it knows
			b.rows.apply(b.flying)
			b.number = b.flying.Number
			b.reload()
			last = r.Last
		default:
			b.commit()
			if do := b.advance(); do.Removed != 1 {
				t.Errorf("%d removals are told, want the one that was confirmed", do.Removed)
			}
			last = r.Last
		}
		if _, _, err := ReadStatus(b.rows, "ba_b"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after commit %d: its status reads %v, want ErrNotFound", commits, err)
		}
		if going, err := Removing(b.rows); err != nil || len(going) == 0 != last {
			t.Errorf("after commit %d: removing %v, %v; last %t", commits, going, err, last)
		}
	}
	if commits < 5 {
		t.Errorf("700 blocks were removed by %d commits, want several", commits)
	}
	if got := b.rows.of("ba_b"); got != string(kindTombstone) {
		t.Errorf("rows of kinds %q are left, want a tombstone alone", got)
	}
	stone, err := ReadTombstone(b.rows, "ba_b")
	if err != nil || stone.Ended != status.Finished || stone.Removed <= stone.Ended || stone.Removed > b.now {
		t.Errorf("tombstone %+v, %v; want that it ended at %d", stone, err, status.Finished)
	}
	if got := b.rows.of("ba_a") + b.rows.of("ba_c"); got != others {
		t.Errorf("of the others rows of kinds %q are left, want %q", got, others)
	}
}

func TestOnlyWhatHasEndedAndIsOverIsRemoved(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		b.endedBulk(weir.BulkID(fmt.Sprint("ba_", i)), 1)
	}
	b.message(envelope{Created: &Created{ID: "ba_1x", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 8}})
	b.settle() // runs
	_, second, err := ReadStatus(b.rows, "ba_1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		young func(weir.BulkID) bool
		over  func(*Created, *Status) bool
		want  []weir.BulkID
	}{
		{"all that has ended", never, func(*Created, *Status) bool { return true }, []weir.BulkID{"ba_0", "ba_1", "ba_2", "ba_3"}},
		{"by the time of its end", never, func(_ *Created, s *Status) bool { return s.Finished <= second.Finished }, []weir.BulkID{"ba_0", "ba_1"}},
		{"by what it is", never, func(c *Created, _ *Status) bool { return c.ID == "ba_2" }, []weir.BulkID{"ba_2"}},
		{"not the young", func(id weir.BulkID) bool { return id >= "ba_1" }, func(*Created, *Status) bool { return true }, []weir.BulkID{"ba_0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []weir.BulkID
			for after, more := weir.BulkID(""), true; more; more = after != "" {
				got, next, err := Expired(b.rows, after, 2, tt.young, tt.over)
				if err != nil || next != "" && next <= after {
					t.Fatalf("Expired after %q goes on after %q, %v", after, next, err)
				}
				all, after = append(all, got...), next
			}
			if !slices.Equal(all, tt.want) {
				t.Errorf("Expired = %v; want %v", all, tt.want)
			}
		})
	}
}

func TestATombstoneIsForgottenAfterItsTime(t *testing.T) {
	b := newBench(t)
	b.endedBulk("ba_a", 1)
	for last := false; !last; b.commit() {
		last = b.remove("ba_a").Last
	}
	stone, err := ReadTombstone(b.rows, "ba_a")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := Forgettable(b.rows, "", 10, never, stone.Removed); err != nil || len(got) != 0 {
		t.Errorf("before its time: %v, %v; want nothing", got, err)
	}
	got, _, err := Forgettable(b.rows, "", 10, never, stone.Removed+1)
	if err != nil || !slices.Equal(got, []weir.BulkID{"ba_a"}) {
		t.Fatalf("after its time: %v, %v; want it", got, err)
	}
	b.m.Remove(Forget("ba_a"))
	b.settle()
	if got := b.rows.of("ba_a"); got != "" {
		t.Errorf("rows of kinds %q are left", got)
	}
}

func TestWhatHasNotEndedIsNeverRemoved(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	b.message(envelope{Created: &Created{ID: "ba_a", Tenant: "t", Chain: "c", Steps: []string{"s0"}, Items: 8}})
	b.settle()
	defer func() {
		if recover() == nil {
			t.Error("the machine took the removal of a bulk action that runs")
		}
	}()
	b.remove("ba_a")
}

// remove removes the shared bulk actions of a cluster everywhere, while owners die and old messages come again.
func (c *cluster) remove() {
	c.t.Helper()
	for _, s := range c.sites {
		ids, _, err := Expired(s.rows, "", 10, never, func(*Created, *Status) bool { return true })
		if err != nil {
			c.t.Fatal(err)
		}
		for _, id := range ids {
			for last := false; !last; {
				r, err := NextRemoval(c.now, s.rows, id)
				if err != nil {
					c.t.Fatal(err)
				}
				s.m.Remove(r)
				s.turn()
				if c.random.IntN(3) == 0 {
					s.crash()
					continue
				}
				s.confirm()
				last = r.Last
			}
		}
	}
	for range min(len(c.old), 10) {
		c.put(c.old[c.random.IntN(len(c.old))])
	}
	c.finish()
	for _, s := range c.sites {
		for _, b := range c.bulks {
			want := string(kindTombstone)
			if b.spec.Shards[0] != s.no {
				want = string([]byte{kindShard, kindTombstone})
			}
			if got := s.rows.of(b.spec.ID); got != want && got != "" { // a shard may never have had work
				c.t.Errorf("partition %d: rows of %s of kinds %q are left, want %q", s.no, b.spec.ID, got, want)
			}
		}
	}
}
