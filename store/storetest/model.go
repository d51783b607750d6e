package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// model is the expected content of one partition of a store.
type model struct {
	rows    map[string]string
	number  uint64
	inbox   []string
	acked   int // number of removed messages
	claims  map[string]string
	records map[string]string
	blocks  map[weir.BulkID]map[uint32]bool // the content of a block follows from its name
	unsure  map[weir.BulkID]bool            // blocks that a crash may remove or, if they were deleted, restore
	token   store.Token
	stale   store.Token
	seqs    []uint64 // of all messages read so far
	backend Backend
	test    *testing.T
	s       store.Store
}

// compare runs random calls on the backend and on the model.
func compare(t *testing.T, b Backend) {
	rapid.Check(t, func(r *rapid.T) {
		m := &model{
			rows: map[string]string{}, claims: map[string]string{}, records: map[string]string{},
			blocks: map[weir.BulkID]map[uint32]bool{}, unsure: map[weir.BulkID]bool{},
			backend: b, test: t, s: b.Open(t),
		}
		defer func() { closeStore(t, m.s) }()
		m.token = acquire(r, m.s, part, "a")
		r.Repeat(map[string]func(*rapid.T){
			"commit":  m.commit,
			"fenced":  m.fenced,
			"append":  m.append,
			"put":     m.put,
			"delete":  m.delete,
			"acquire": m.acquire,
			"reopen":  m.reopen,
			"swap":    m.swap,
			"list":    m.list,
			"":        m.check,
		})
	})
}

var (
	keys = rapid.SampledFrom([]string{"a", "aa", "b", "b\xff", "c"})
	ids  = rapid.SampledFrom([]weir.BulkID{"ba_1", "ba_2", "ba_22"})
)

func (m *model) batch(r *rapid.T) *store.Batch {
	b := &store.Batch{Number: m.number + 1}
	for _, k := range rapid.SliceOfNDistinct(keys, 0, 3, rapid.ID).Draw(r, "set") {
		b.Set = append(b.Set, store.Row{Key: []byte(k), Value: []byte(rapid.StringN(0, 3, -1).Draw(r, "value"))})
	}
	for _, k := range rapid.SliceOfNDistinct(keys, 0, 2, rapid.ID).Draw(r, "delete") {
		if !slices.ContainsFunc(b.Set, func(s store.Row) bool { return string(s.Key) == k }) {
			b.Delete = append(b.Delete, []byte(k))
		}
	}
	if n := rapid.IntRange(m.acked, len(m.seqs)).Draw(r, "ack"); n > 0 {
		b.Ack = m.seqs[n-1]
	}
	return b
}

func (m *model) commit(r *rapid.T) {
	b := m.batch(r)
	must(r, m.s.Commit(r.Context(), part, m.token, b))
	m.number++
	for _, k := range b.Delete {
		delete(m.rows, string(k))
	}
	for _, row := range b.Set {
		m.rows[string(row.Key)] = string(row.Value)
	}
	if n := slices.Index(m.seqs, b.Ack); n >= 0 {
		m.acked = max(m.acked, n+1)
	}
}

func (m *model) fenced(r *rapid.T) {
	b := m.batch(r)
	wantErr(r, m.s.Commit(r.Context(), part, m.stale, b), store.ErrFenced)
	b.Number += rapid.SampledFrom([]uint64{1, ^uint64(0)}).Draw(r, "off by")
	var wrong *store.NumberError
	if err := m.s.Commit(r.Context(), part, m.token, b); !errors.As(err, &wrong) {
		r.Fatalf("Commit of number %d after %d = %v, want a *NumberError", b.Number, m.number, err)
	}
}

func (m *model) append(r *rapid.T) {
	body := fmt.Sprint("message ", len(m.inbox))
	c := store.Claim{Key: rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "claim"), Value: []byte(body)}
	err := m.s.Append(r.Context(), part, []byte(body), c)
	if v, taken := m.claims[c.Key]; taken {
		var claimed *store.ClaimedError
		if !errors.As(err, &claimed) || string(claimed.Value) != v {
			r.Fatalf("Append with a claim that is taken = %v, want a *ClaimedError with %q", err, v)
		}
		return
	}
	must(r, err)
	if c.Key != "" {
		m.claims[c.Key] = body
	}
	m.inbox = append(m.inbox, body)
	for id := range m.blocks {
		delete(m.unsure, id)
	}
}

func blockText(id weir.BulkID, no uint32) string { return fmt.Sprint(id, " ", no) }

func (m *model) put(r *rapid.T) {
	id, first := ids.Draw(r, "id"), rapid.Uint32Range(0, 4).Draw(r, "first")
	end := first + rapid.Uint32Range(1, 3).Draw(r, "n")
	var blocks [][]byte
	if m.blocks[id] == nil {
		m.blocks[id] = map[uint32]bool{}
	}
	for no := first; no < end; no++ {
		blocks = append(blocks, []byte(blockText(id, no)))
		m.blocks[id][no] = true
	}
	must(r, m.s.PutBlocks(r.Context(), part, id, first, blocks))
	m.unsure[id] = true
}

func (m *model) delete(r *rapid.T) {
	id := ids.Draw(r, "id")
	must(r, m.s.DeleteBlocks(r.Context(), part, id))
	delete(m.blocks, id)
	m.unsure[id] = true
}

func (m *model) acquire(r *rapid.T) {
	_, err := m.s.Acquire(r.Context(), part, "b", long)
	wantErr(r, err, store.ErrHeld)
	m.stale, m.token = m.token, acquire(r, m.s, part, "a")
}

func (m *model) reopen(r *rapid.T) {
	if m.backend.Reopen == nil {
		r.Skip("nothing survives")
	}
	m.s = m.backend.Reopen(m.test, m.s)
	m.stale, m.token = m.token, acquire(r, m.s, part, "a")
	for id := range m.unsure {
		m.adopt(r, id)
	}
	clear(m.unsure)
}

// adopt records which of a bulk action's blocks a crash has left.
func (m *model) adopt(r *rapid.T, id weir.BulkID) {
	delete(m.blocks, id)
	for no := range uint32(8) {
		b, err := m.s.GetBlock(r.Context(), part, id, no)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		must(r, err)
		want(r, "block after a crash", string(b), blockText(id, no))
		if m.blocks[id] == nil {
			m.blocks[id] = map[uint32]bool{}
		}
		m.blocks[id][no] = true
	}
}

// check compares everything that can be read.
func (m *model) check(r *rapid.T) {
	want(r, "number", number(r, m.s, part), m.number)
	var wantRows []string
	for _, k := range slices.Sorted(maps.Keys(m.rows)) {
		wantRows = append(wantRows, k+"="+m.rows[k])
	}
	want(r, "rows", strings.Join(rows(r, m.s, part, ""), " "), strings.Join(wantRows, " "))
	for _, of := range []store.Range{{}, {Back: true}, {After: []byte("a"), Before: []byte("b\xff")}, {Prefix: []byte("b"), Back: true},
		{Prefix: []byte("b"), After: []byte("b"), Before: []byte("b\xff\x01"), Back: true}} {
		in := slices.DeleteFunc(slices.Sorted(maps.Keys(m.rows)), func(k string) bool {
			return !strings.HasPrefix(k, string(of.Prefix)) || of.After != nil && k <= string(of.After) || of.Before != nil && k >= string(of.Before)
		})
		if of.Back {
			slices.Reverse(in)
		}
		wantRows = wantRows[:0]
		for _, k := range in[:min(2, len(in))] {
			wantRows = append(wantRows, k+"="+m.rows[k])
		}
		want(r, "page", strings.Join(page(r, m.s, part, of, 2), " "), strings.Join(wantRows, " "))
	}
	asked := []string{"c", "b\xff", "never", "aa", "a", "b"}
	for i, v := range many(r, m.s, part, asked...) {
		value, ok := m.rows[asked[i]]
		if !ok {
			value = "nil"
		}
		want(r, "row "+asked[i]+" among many", v, value)
	}
	want(r, "block owners", fmt.Sprint(owners(r, m.s, part)), fmt.Sprint(slices.Sorted(maps.Keys(m.blocks))))
	for id, nos := range m.blocks {
		for no := range nos {
			want(r, "block", block(r, m.s, part, id, no), blockText(id, no))
		}
	}
	m.checkInbox(r)
}

func (m *model) checkInbox(r *rapid.T) {
	if len(m.inbox) == m.acked {
		return
	}
	found := read(r, m.s, part, 0)
	want(r, "messages", len(found), len(m.inbox)-m.acked)
	for i, msg := range found {
		n := m.acked + i
		want(r, "message", string(msg.Body), m.inbox[n])
		if n == len(m.seqs) {
			if n > 0 && msg.Seq <= m.seqs[n-1] {
				r.Fatalf("message %d has number %d, the one before %d", n, msg.Seq, m.seqs[n-1])
			}
			m.seqs = append(m.seqs, msg.Seq)
		}
		want(r, "sequence number", msg.Seq, m.seqs[n])
	}
}
