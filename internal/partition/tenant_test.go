package partition

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
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
	b.rows[string(tenantKey("c"))] = nil   // nobody's
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

// turns lets every partition start one task for each that ends, and counts whose they are.
func (c *cluster) turns(n int, got map[string]int) {
	c.clean = true
	for range n {
		for _, s := range c.sites {
			if len(s.running) > 0 {
				s.end(0, true)
			}
			before := len(s.running)
			s.turn()
			s.confirm()
			for _, task := range s.running[min(before, len(s.running)):] {
				got[task.Tenant] += len(task.Items)
			}
		}
		for len(c.network) > 0 {
			c.deliver()
		}
		c.now += groupFor
	}
}

// ordinary adds a bulk action that one partition does alone.
func (c *cluster) ordinary(p int, tenant string, items int64) {
	b := &watched{spec: &Created{
		ID: weir.BulkID(fmt.Sprintf("ba_%d", len(c.bulks))), Tenant: tenant, Chain: "c", Steps: []string{"s0", "s1"}, Items: items, Shards: []int{p},
	}, runBy: map[uint32]int{}, states: map[uint32]*block.State{}}
	c.bulks = append(c.bulks, b)
	c.append(p, envelope{Created: b.spec})
}

func TestTenantGainsNothingByBeingSpread(t *testing.T) {
	c := newCluster(t, 1, 4)
	c.chains["c"] = steps(2, 1)
	huge := c.submit(0, 2000, weir.StopRule{}, 0)
	for p := range 4 {
		c.ordinary(p, fmt.Sprintf("b%d", p), 1<<20)
	}
	c.turns(200, map[string]int{}) // until it is spread
	got := map[string]int{}
	c.turns(4000, got)
	want := 4 * 4000 / 5 // five tenants, four partitions
	for tenant, n := range got {
		if n < want*9/10 || n > want*11/10 {
			t.Errorf("tenant %s got %d turns of 16000, want %d: %v", tenant, n, want, got)
		}
	}
	c.command(huge, Cancel)
	c.turns(50, map[string]int{})
	c.ordinary(2, "t", 1<<20)
	c.turns(50, map[string]int{})
	clear(got)
	c.turns(2000, got)
	if n := got["t"]; n < 900 || n > 1100 {
		t.Errorf("the tenant's weight did not come back with the end of its shards: %v", got)
	}
}
