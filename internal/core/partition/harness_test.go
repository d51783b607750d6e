package partition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/store"
)

// bench holds a machine, its clock and its rows.
type bench struct {
	t      testing.TB
	m      *Machine
	now    int64
	rows   memory
	chains map[string][]weir.Step
	codec  *block.Codec
	inbox  []store.Message // all that ever came
	acked  uint64
	flying *store.Batch
	number uint64 // of the last commit written
	node   string // whose machine it is; empty: deaths are not noticed
	flow   bool   // flow control is on
	has    *capacity.Node
}

func newBench(t testing.TB) *bench {
	t.Helper()
	codec, err := block.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: 1_800_000_000e9, rows: memory{}, chains: map[string][]weir.Step{}, codec: codec}
	b.m = New(b.config(), 0)
	return b
}

// benchSlots is how many tasks may be in flight.
const benchSlots = 8

func (b *bench) config() Config {
	b.has = capacity.New(capacity.Config{Slots: benchSlots, NoFlow: !b.flow})
	return Config{Capacity: b.has.Join(nil), Seed: 1, Chain: func(name string) []weir.Step { return b.chains[name] }, Codec: b.codec, Node: b.node}
}

// message gives the machine a message of the inbox.
func (b *bench) message(e envelope) {
	b.t.Helper()
	body, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	b.inbox = append(b.inbox, store.Message{Seq: uint64(len(b.inbox) + 1), Body: body})
	b.deliver(b.inbox[len(b.inbox)-1])
}

func (b *bench) deliver(msg store.Message) {
	b.t.Helper()
	if _, err := b.m.Message(b.now, msg); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) advance() *Effects {
	b.now += groupFor // a turn of the loop: no commit waits for company
	do := b.m.Advance(b.now)
	if do.Commit != nil {
		b.flying = do.Commit
	}
	return do
}

// commit writes the batch under way and confirms it.
func (b *bench) commit() {
	b.t.Helper()
	if b.flying == nil {
		b.t.Fatal("no commit is under way")
	}
	b.rows.apply(b.flying)
	b.acked = max(b.acked, b.flying.Ack)
	b.number, b.flying = b.flying.Number, nil
	b.m.Committed(b.now)
}

// settle commits until there is nothing to write.
func (b *bench) settle() (tasks []*Task) {
	for {
		do := b.advance()
		tasks = append(tasks, do.Start...)
		if b.flying == nil {
			return tasks
		}
		b.commit()
	}
}

// reload is a crash and a takeover: a new machine from what is stored, and the
// messages that no commit has acknowledged.
func (b *bench) reload() {
	b.t.Helper()
	b.flying = nil
	b.m = New(b.config(), b.number)
	if err := b.m.Load(b.now, b.rows); err != nil {
		b.t.Fatal(err)
	}
	for _, msg := range b.inbox[b.acked:] {
		b.deliver(msg)
	}
}

// allDone is a success for every item, with its position as output.
func (b *bench) allDone(t *Task) []weir.Outcome {
	outcomes := make([]weir.Outcome, len(t.Items))
	for i, item := range t.Items {
		outcomes[i] = weir.Outcome{Kind: weir.OutcomeDone, Output: fmt.Appendf(nil, "%d", item)}
	}
	return outcomes
}

// memory is a partition's rows.
type memory map[string][]byte

func (m memory) apply(b *store.Batch) {
	for _, k := range b.Delete {
		delete(m, string(k))
	}
	for _, r := range b.Set {
		m[string(r.Key)] = r.Value
	}
}

// Get implements Rows.
func (m memory) Get(key []byte) ([]byte, error) {
	v, ok := m[string(key)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return v, nil
}

// GetMany implements ManyRows.
func (m memory) GetMany(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i] = m[string(key)]
	}
	return values, nil
}

// Scan implements Rows.
func (m memory) Scan(prefix []byte, yield func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(k, string(prefix)) {
			if err := yield([]byte(k), m[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// elsewhere reports whether a kind of row is left out of stories: every commit has the time, and
// tenant_test.go, groups_test.go, trouble_test.go and index_test.go look at the others.
func elsewhere(kind byte) bool {
	return kind == kindTime || kind == kindTenant || kind == kindGroup || kind == kindAction || kind == kindTerm || kind == kindItem || kind == kindDue || kind == kindMark
}

func (m memory) kinds() (list []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !elsewhere(k[0]) {
			list = append(list, kind(k))
		}
	}
	return list
}

// kind names a row: what it is, and the block where there is one.
func kind(key string) string {
	switch key[0] {
	case kindBlock:
		return fmt.Sprintf("block%d", key[len(key)-1])
	case kindResults:
		return fmt.Sprintf("results%d", key[len(key)-9])
	}
	return map[byte]string{kindActive: "active", kindSpec: "spec", kindStatus: "status", kindLatency: "latency"}[key[0]]
}

// describe lists what a batch writes.
func describe(b *store.Batch) string {
	var parts []string
	for _, r := range b.Set {
		if !elsewhere(r.Key[0]) {
			parts = append(parts, kind(string(r.Key)))
		}
	}
	for _, k := range b.Delete {
		if !elsewhere(k[0]) {
			parts = append(parts, "-"+kind(string(k)))
		}
	}
	if b.Ack > 0 {
		parts = append(parts, fmt.Sprintf("ack%d", b.Ack))
	}
	return strings.Join(parts, " ")
}
