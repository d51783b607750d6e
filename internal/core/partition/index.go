package partition

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	hashes "github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/store"
)

// The index finds bulk actions by what they are, the newest first, without reading those that do not match. A bulk action
// has a row for each of its terms, whose key is the hash of the term and the id, in its home partition alone. All
// follow from its spec and its status ([IndexRows]), and are in the commits that change those. Keys are in the
// order of ids, which is that of time. Hashes may collide: who needs to be sure compares what was found.

// Term is something that bulk actions are found by: what the keys of its rows begin with, a kind of row and a hash.
type Term string

// term hashes the kind, too, so that a tenant is never taken for a label.
func term(kind, text string) Term { return hashed(kindTerm, hashes.HashString(kind+"\x00"+text)) }

func hashed(kind byte, hash uint64) Term {
	return Term(binary.BigEndian.AppendUint64([]byte{kind}, hash))
}

// ItemTerm is had by bulk actions of few items, one of which has an id with that hash.
func ItemTerm(hash uint64) Term { return hashed(kindItem, hash) }

// TenantTerm is had by the bulk actions of a tenant.
func TenantTerm(name string) Term { return term("tenant", name) }

// StateTerm is had by the bulk actions in a state.
func StateTerm(s weir.BulkState) Term { return term("state", s.String()) }

// RetryTerm is had by the retries of a bulk action.
func RetryTerm(of weir.BulkID) Term { return term("retry_of", string(of)) }

// FailedTerm is had by bulk actions with failed items.
func FailedTerm() Term { return term("failed", "") }

// UnlistedTerm is had by bulk actions without terms for their items that are not in a joint filter: their own filters are
// asked.
func UnlistedTerm() Term { return term("unlisted", "") }

// JoinedTerm is had by bulk actions that are in a joint filter, which its rows name.
func JoinedTerm() Term { return term("joined", "") }

// LargeTerm is had by bulk actions that are too large for a joint filter: their own filters are asked.
func LargeTerm() Term { return term("large", "") }

// TextTerm is had by bulk actions that were submitted with a text to be found by.
func TextTerm(text string) Term { return term("text", text) }

// MostListed is the most items that a bulk action has rows for in the index.
const MostListed = 16

// AppendHash appends the hash of a term to those in [Created].
func AppendHash(list []byte, t Term) []byte { return append(list, t[1:]...) }

func termKey(t Term, id weir.BulkID) []byte { return append([]byte(t), id...) }

// dueKey is the key of a row that says when a bulk action is removed that says so itself.
func dueKey(at int64, id weir.BulkID) []byte { return termKey(hashed(kindDue, uint64(max(at, 0))), id) }

// indexed returns the bulk action in a key of the index.
func indexed(key []byte) (weir.BulkID, error) {
	if len(key) < 9 {
		return "", fmt.Errorf("row %q: %w: its key is too short", key, store.ErrCorrupt)
	}
	return weir.BulkID(key[9:]), nil
}

// FixedTerms returns the terms that a bulk action has from its creation to its removal.
func (c *Created) FixedTerms() []Term { return append(c.bareTerms(), nameTerms(c.Name)...) }

// fixedRows returns the rows of these terms.
func (c *Created) fixedRows() (rows []store.Row) {
	for _, t := range c.bareTerms() {
		rows = append(rows, store.Row{Key: termKey(t, c.ID)})
	}
	for _, t := range nameTerms(c.Name) {
		rows = append(rows, tellingRow(c, t))
	}
	return rows
}

// bareTerms returns the fixed terms whose rows have no value: all but those of the name.
func (c *Created) bareTerms() []Term {
	list := []Term{TenantTerm(c.Tenant)}
	if c.RetryOf != "" {
		list = append(list, RetryTerm(c.RetryOf))
	}
	switch {
	case c.Listed == nil && c.Items > mostOfJoined:
		list = append(list, LargeTerm())
	case c.Listed == nil:
		list = append(list, UnlistedTerm())
	}
	list = appendTerms(list, kindTerm, c.Terms)
	return appendTerms(list, kindItem, c.Listed)
}

// appendTerms appends terms as they are stored.
func appendTerms(list []Term, kind byte, hashes []byte) []Term {
	for h := range slices.Chunk(hashes, 8) {
		list = append(list, Term(append([]byte{kind}, h...)))
	}
	return list
}

// tellingRow is the row by which a bulk action is found by its state or by a word of its name. Its value is what lists
// compare with what they look for, so that they need not read the specs of what they do not show.
func tellingRow(c *Created, t Term) store.Row {
	return seal(termKey(t, c.ID), append(append([]byte(c.Tenant), 0), c.Name...))
}

// IndexRows returns all rows that the index has of a bulk action that is not in a joint filter. One that is has a row of
// the term joined instead of that of unlisted.
func IndexRows(c *Created, s *Status) []store.Row {
	rows := append(c.fixedRows(), tellingRow(c, StateTerm(s.State)))
	if s.Failed > 0 {
		rows = append(rows, store.Row{Key: termKey(FailedTerm(), c.ID)})
	}
	if key := removalKey(c, s); key != nil {
		rows = append(rows, store.Row{Key: key})
	}
	return rows
}

// removalKey returns the key of the row that says when the bulk action is removed; nil: it has not ended, or is kept as
// long as others.
func removalKey(c *Created, s *Status) []byte {
	if c.KeepFor <= 0 || !s.State.Final() {
		return nil
	}
	return dueKey(s.Finished+c.KeepFor, c.ID)
}

// inIndex is what the stored index says of a bulk action.
type inIndex struct {
	there  bool // it has its fixed rows
	state  weir.BulkState
	failed int64
}

// indexedAs returns what the index says of a bulk action that was loaded.
func indexedAs(s *Status) inIndex { return inIndex{true, s.State, s.Failed} }

// writeIndex adds the changes of the index to the commit being cut, which is that of the generation.
func (x *bulk) writeIndex(b *store.Batch, g *generation) {
	was, now := x.index, indexedAs(&x.status)
	if was == now {
		return
	}
	x.index = now
	if key := removalKey(x.spec, &x.status); key != nil { // shards are removed by their partition
		b.Set = append(b.Set, store.Row{Key: key})
	}
	if x.away() {
		return
	}
	if !was.there {
		b.Set = append(b.Set, x.spec.fixedRows()...)
	}
	if !was.there || was.state != now.state {
		b.Set = append(b.Set, tellingRow(x.spec, StateTerm(now.state)))
		if was.there {
			b.Delete = append(b.Delete, termKey(StateTerm(was.state), x.spec.ID))
		}
	}
	if now.failed > 0 {
		g.noteFailing(x.spec.ID)
	}
	if now.failed > 0 && was.failed == 0 {
		b.Set = append(b.Set, store.Row{Key: termKey(FailedTerm(), x.spec.ID)})
	}
}
