package partition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Page implements PagedRows.
func (m memory) Page(r store.Range, limit int) (rows []store.Row, err error) {
	keys := slices.Sorted(maps.Keys(m))
	if r.Back {
		slices.Reverse(keys)
	}
	for _, k := range keys {
		in := strings.HasPrefix(k, string(r.Prefix)) && (r.After == nil || k > string(r.After)) && (r.Before == nil || k < string(r.Before))
		if in && len(rows) < limit {
			rows = append(rows, store.Row{Key: []byte(k), Value: m[k]})
		}
	}
	return rows, nil
}

// index lists the rows of the index.
func (m memory) index() map[string]string {
	found := map[string]string{}
	for k, v := range m {
		if k[0] == kindTerm || k[0] == kindItem || k[0] == kindDue {
			found[k] = string(v)
		}
	}
	return found
}

// wantIndex checks that the index follows from the specs and statuses that are stored.
func (b *bench) wantIndex() {
	b.t.Helper()
	want := map[string]string{}
	err := EachBulk(b.rows, "", func(id weir.BulkID) error {
		spec, status, err := ReadStatus(b.rows, id)
		if err != nil {
			return err
		}
		for _, r := range IndexRows(spec, status) {
			want[string(r.Key)] = string(r.Value)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if got := b.rows.index(); !maps.Equal(got, want) {
		b.t.Errorf("the index has %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func (b *bench) found(t Term) (ids []string) {
	b.t.Helper()
	list, err := EntriesOf(b.rows, t, Span{}, 10)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range list {
		ids = append(ids, string(e.ID))
	}
	return ids
}

func TestTheIndexFollowsStatesFailuresAndRemoval(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 2)
	label := TextTerm("label\x00team=a")
	create := func(id, tenant string) {
		b.message(envelope{Created: &Created{
			ID: weir.BulkID(id), Name: "n " + id, Tenant: tenant, Chain: "c", Steps: []string{"s0"}, Items: 2, Sizes: []uint16{2}, Hold: true,
			RetryOf: "ba_z", KeepFor: 7, Terms: AppendHash(nil, label), Listed: AppendHash(AppendHash(nil, ItemTerm(11)), ItemTerm(12)),
		}})
		b.settle()
	}
	create("ba_a", "one")
	create("ba_b", "two")
	b.wantIndex()
	is := func(term Term, name, want string) {
		t.Helper()
		if got := strings.Join(b.found(term), " "); got != want {
			t.Errorf("%s finds %q, want %q", name, got, want)
		}
	}
	is(TenantTerm("one"), "a tenant", "ba_a")
	is(label, "a label", "ba_b ba_a")
	is(RetryTerm("ba_z"), "the original", "ba_b ba_a")
	is(ItemTerm(12), "an item", "ba_b ba_a")
	is(StateTerm(weir.BulkSealed), "sealed", "ba_b ba_a")
	b.message(envelope{Command: &Command{ID: "ba_a", Verb: Start}})
	tasks := b.settle()
	b.wantIndex()
	is(StateTerm(weir.BulkSealed), "sealed", "ba_b")
	is(StateTerm(weir.BulkRunning), "running", "ba_a")
	b.reload()
	for tasks = b.settle(); len(tasks) > 0; tasks = b.settle() {
		for _, task := range tasks {
			b.m.Result(b.now, &Result{Task: task, Outcomes: b.failing(task)})
		}
	}
	b.wantIndex()
	is(StateTerm(weir.BulkRunning), "running", "")
	is(FailedTerm(), "failed", "ba_a")
	_, status, err := ReadStatus(b.rows, "ba_a")
	if err != nil {
		t.Fatal(err)
	}
	for now, want := range map[int64]string{status.Finished + 7: "[]", status.Finished + 8: "[ba_a]"} {
		if due, err := Due(b.rows, now, 10); err != nil || fmt.Sprint(due) != want {
			t.Errorf("due %d after the end: %v, %v; want %s", now-status.Finished, due, err, want)
		}
	}
	list, err := EntriesOf(b.rows, StateTerm(weir.BulkCompleted), Span{}, 10)
	if err != nil || len(list) != 1 || list[0] != (Entry{"ba_a", "one", "n ba_a"}) {
		t.Errorf("completed finds %v, %v", list, err)
	}
	for last := false; !last; {
		last = b.remove("ba_a").Last
		b.settle()
		b.wantIndex()
	}
	is(label, "a label", "ba_b")
}

func TestAShardIsNotInTheIndex(t *testing.T) {
	c := &Created{ID: "ba_a", Tenant: "t", Steps: []string{"s"}}
	b := &bulk{spec: c, shard: &shard{away: &away{}}}
	var batch store.Batch
	b.writeIndex(&batch, &generation{})
	if len(batch.Set) != 0 {
		t.Errorf("a shard writes %q", batch.Set)
	}
	b.index, b.shard = inIndex{}, nil
	b.writeIndex(&batch, &generation{})
	if len(batch.Set) != 3 { // tenant, state, unlisted
		t.Errorf("a bulk action writes %q", batch.Set)
	}
}
