package partition

import (
	"bytes"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Entry is a bulk action as found in the index. Tenant and Name are known if it was found by a state or by a word of its
// name, with the others or alone.
type Entry struct {
	ID           weir.BulkID
	Tenant, Name string
}

// read takes what a row of the index tells, if it does.
func (e *Entry) read(key, value []byte) error {
	if len(value) == 0 || e.Tenant != "" {
		return nil
	}
	raw, err := unseal(key, value)
	if err != nil {
		return err
	}
	tenant, name, _ := bytes.Cut(raw, []byte{0})
	e.Tenant, e.Name = string(tenant), string(name)
	return nil
}

// Span bounds bulk actions by their ids, which are in the order of time. The zero value has all.
type Span struct {
	After  weir.BulkID // this one and older ones are left out; "": none
	Before weir.BulkID // this one and newer ones are left out; "": none
}

// Has reports whether a bulk action is in the span.
func (s Span) Has(id weir.BulkID) bool { return id > s.After && (s.Before == "" || id < s.Before) }

// pageOf reads a part of the entries under a key that ends before the id, the newest in a span first.
func pageOf(rows PagedRows, prefix []byte, in Span, limit int) ([]store.Row, error) {
	r := store.Range{Prefix: prefix, Back: true}
	if in.After != "" {
		r.After = append(slices.Clone(prefix), in.After...)
	}
	if in.Before != "" {
		r.Before = append(slices.Clone(prefix), in.Before...)
	}
	return rows.Page(r, limit)
}

// EntriesOf returns up to limit bulk actions that have a term, the newest in a span first.
func EntriesOf(rows PagedRows, t Term, in Span, limit int) ([]Entry, error) {
	page, err := pageOf(rows, []byte(t), in, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(page))
	for i, r := range page {
		if list[i].ID, err = indexed(r.Key); err != nil {
			return nil, err
		}
		if err := list[i].read(r.Key, r.Value); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// HaveAny returns those of the entries that have at least one of some terms, with what the rows of these tell.
func HaveAny(rows ManyRows, list []Entry, terms []Term) ([]Entry, error) {
	keys := make([][]byte, 0, len(list)*len(terms))
	for _, e := range list {
		for _, t := range terms {
			keys = append(keys, termKey(t, e.ID))
		}
	}
	found, err := rows.GetMany(keys)
	if err != nil {
		return nil, err
	}
	var kept []Entry
	for i, e := range list {
		at := i * len(terms)
		of := slices.IndexFunc(found[at:at+len(terms)], func(v []byte) bool { return v != nil })
		if of < 0 {
			continue
		}
		if err := e.read(keys[at+of], found[at+of]); err != nil {
			return nil, err
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// Stored is a bulk action as read from its rows.
type Stored struct {
	Spec   *Created
	Status *Status
}

// ReadAll reads spec and status of bulk actions together. One that was removed is nil.
func ReadAll(rows ManyRows, ids []weir.BulkID) ([]*Stored, error) {
	keys := make([][]byte, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, specKey(id), statusKey(id))
	}
	found, err := rows.GetMany(keys)
	if err != nil {
		return nil, err
	}
	list := make([]*Stored, len(ids))
	for i := range ids {
		if found[2*i] == nil || found[2*i+1] == nil {
			continue
		}
		s := &Stored{&Created{}, &Status{}}
		if err := UnsealJSON(keys[2*i], found[2*i], s.Spec); err != nil {
			return nil, err
		}
		if err := UnsealJSON(keys[2*i+1], found[2*i+1], s.Status); err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

// ReadSpecs reads the specs of bulk actions together, with their blocks of those that are inline. One that has none is nil.
func ReadSpecs(rows ManyRows, ids []weir.BulkID) ([]*Created, error) {
	keys := make([][]byte, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, specKey(id), inlineKey(id))
	}
	found, err := rows.GetMany(keys)
	if err != nil {
		return nil, err
	}
	list := make([]*Created, len(ids))
	for i := range ids {
		if found[2*i] == nil {
			continue
		}
		list[i] = &Created{}
		if err := UnsealJSON(keys[2*i], found[2*i], list[i]); err != nil {
			return nil, err
		}
		if block := found[2*i+1]; block != nil {
			if list[i].Block, err = unseal(keys[2*i+1], block); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// NewestOf returns up to limit bulk actions and shards, as [EntriesOf] does.
func NewestOf(rows PagedRows, in Span, limit int) ([]Entry, error) {
	page, err := pageOf(rows, []byte{kindSpec}, in, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(page))
	for i, r := range page {
		list[i].ID = weir.BulkID(r.Key[1:])
	}
	return list, nil
}

// EachSpec yields the specs of all bulk actions and shards, as they are stored. A spec is valid until yield returns.
func EachSpec(rows Rows, yield func(id weir.BulkID, spec []byte)) error {
	return rows.Scan([]byte{kindSpec}, func(key, value []byte) error {
		yield(weir.BulkID(key[1:]), value)
		return nil
	})
}
