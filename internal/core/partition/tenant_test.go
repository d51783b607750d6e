package partition

import (
	"errors"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

func (b *bench) wantActive(tenant string, want bool) {
	b.t.Helper()
	if got, err := TenantActive(b.rows, tenant); got != want || err != nil {
		b.t.Errorf("TenantActive(%q) = %v, %v; want %v", tenant, got, err, want)
	}
}

func (b *bench) create(id, tenant string, items int64) {
	b.t.Helper()
	b.message(envelope{Created: &Created{ID: weir.BulkID(id), Tenant: tenant, Chain: "c", Steps: []string{"s0"}, Items: items}})
}

func TestTenantIsMarkedWhileItHasBulkActions(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 4)
	b.wantActive("a", false)
	b.create("ba_1", "a", 4)
	b.create("ba_2", "a", 4)
	tasks := b.settle()
	b.wantActive("a", true)
	b.wantActive("b", false)
	before := b.number
	for i, task := range tasks {
		b.wantActive("a", true)
		b.m.Result(b.now, &Result{Task: task, Outcomes: b.allDone(task)})
		b.advance()
		if b.commit(); b.number != before+uint64(i)+1 {
			t.Errorf("the marker took a commit of its own: %d, then %d", before, b.number)
		}
	}
	b.wantActive("a", false)
	b.create("ba_3", "a", 0) // comes and goes with one commit
	b.settle()
	b.wantActive("a", false)
}

func TestTenantMarkersSurviveATakeover(t *testing.T) {
	b := newBench(t)
	b.chains["c"] = steps(1, 4)
	b.create("ba_1", "a", 4)
	b.create("ba_2", "b", 4)
	b.settle()
	delete(b.rows, string(tenantKey("b"))) // written by a version that had none
	b.rows[string(tenantKey("c"))] = nil   // of a tenant without bulk actions
	b.reload()
	for _, task := range b.settle()[:1] {
		b.m.Result(b.now, &Result{Task: task, Failure: &Failure{Code: "down"}})
	}
	b.settle()
	b.wantActive("a", true)
	b.wantActive("b", true)
	b.wantActive("c", false)
	b.message(envelope{Command: &Command{ID: "ba_1", Verb: Cancel}})
	b.message(envelope{Command: &Command{ID: "ba_2", Verb: Cancel}})
	b.reload() // what ran is forgotten
	b.settle()
	b.wantActive("a", false)
	b.wantActive("b", false)
}

func TestMarkerThatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("no route")
	if _, err := TenantActive(failing{broken}, "a"); !errors.Is(err, broken) {
		t.Errorf("TenantActive = %v, want the store's error", err)
	}
}

// failing is rows that cannot be read.
type failing struct{ err error }

func (f failing) Get([]byte) ([]byte, error)                       { return nil, f.err }
func (f failing) Scan([]byte, func(key, value []byte) error) error { return f.err }

var _ Rows = failing{store.ErrClosed}
