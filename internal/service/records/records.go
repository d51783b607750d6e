// Package records keeps single JSON records by name, with compare-and-swap, on a
// store's registry.
//
// A [Table] holds the records of one kind. Transactions over two records do not exist: data that
// must change together belongs into one record. Every write has a random mark, which is the
// record's [Entry].Version. If the response to a write is lost, the mark tells the writer whether
// it took effect.
//
// A record is stored with a checksum of its name and its content: damage, or a
// record in another's place, is [store.ErrCorrupt]. A Table may be used by
// several goroutines, and any number of tables on any number of nodes may share
// a kind.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Errors to branch on with [errors.Is], besides [weir.ErrNotFound] and those of package store.
var (
	// ErrExists means that a record of that name exists.
	ErrExists = errors.New("the name is already in use")
	// ErrChanged means that the record has another version by now.
	ErrChanged = errors.New("it was changed since it was read")
	// ErrTooBig means that a record does not fit: its name or its JSON is too long. Nothing was written.
	ErrTooBig = errors.New("it is too large to store")
)

// Keeper is the part of a store that a table needs; every [store.Registry] implements it.
type Keeper interface {
	Swap(ctx context.Context, name string, old, value []byte) ([]byte, error)
	Lookup(ctx context.Context, name string) ([]byte, error)
	List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error)
}

// Table holds the records of one kind, each the JSON of a T.
type Table[T any] struct {
	keeper Keeper
	kind   string
}

// Entry is a record as it was read or written.
type Entry[T any] struct {
	Name  string
	Value T
	// Version differs after every write, also after the record was removed and created again. It
	// consists of letters and digits, fit for an entity tag.
	Version string

	raw []byte // as it was written; nil: it was read
}

// New returns the table of a kind. A kind is one word without a slash: the store knows its records
// as kind/name.
func New[T any](s Keeper, kind string) *Table[T] {
	if kind == "" || strings.Contains(kind, "/") {
		panic(fmt.Sprintf("records: kind %q must be one word without a slash", kind))
	}
	return &Table[T]{s, kind}
}

// key returns the name of a record in the store.
func (t *Table[T]) key(name string) string { return t.kind + "/" + name }

// failed adds the record's name to an error.
func (t *Table[T]) failed(name string, err error) error {
	return fmt.Errorf("%s %q: %w", t.kind, name, err)
}

// lookup returns the stored bytes of a record, nil if it does not exist.
func (t *Table[T]) lookup(ctx context.Context, name string) ([]byte, error) {
	if name == "" {
		return nil, nil // every record has a name
	}
	raw, err := t.keeper.Lookup(ctx, t.key(name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return raw, err
}

// entry decodes the stored bytes of a record.
func (t *Table[T]) entry(name string, raw []byte) (e Entry[T], err error) {
	head, content, err := open(t.key(name), raw)
	if err != nil {
		return e, err
	}
	e = Entry[T]{Name: name, Version: head[0].String()}
	if err := json.Unmarshal(content, &e.Value); err != nil {
		return Entry[T]{}, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return e, nil
}

// Get returns a record, or [weir.ErrNotFound].
func (t *Table[T]) Get(ctx context.Context, name string) (Entry[T], error) {
	raw, err := t.lookup(ctx, name)
	if err == nil && raw == nil {
		err = weir.ErrNotFound
	}
	if err != nil {
		return Entry[T]{}, t.failed(name, err)
	}
	e, err := t.entry(name, raw)
	if err != nil {
		return Entry[T]{}, t.failed(name, err)
	}
	return e, nil
}

// List returns the records whose name begins with prefix and is greater than after, in byte order
// of names: at most limit, which is at least 1, and fewer only at the end. A record that exists
// during the whole call is listed. A damaged record is an error that names it; [Table.All] gets
// past it.
func (t *Table[T]) List(ctx context.Context, prefix, after string, limit int) ([]Entry[T], error) {
	page, err := t.page(ctx, prefix, after, limit)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry[T], 0, len(page))
	for _, r := range page {
		e, err := t.entry(r.Name, r.Value)
		if err != nil {
			return nil, t.failed(r.Name, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// page lists stored records by their names in the table.
func (t *Table[T]) page(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	page, err := t.keeper.List(ctx, t.key(prefix), t.key(after), limit)
	if err != nil {
		return nil, fmt.Errorf("list %s %q: %w", t.kind, prefix, err)
	}
	for i := range page {
		page[i].Name = strings.TrimPrefix(page[i].Name, t.kind+"/")
	}
	return page, nil
}

// pageSize bounds how many records [Table.All] holds at a time: 64 MiB of the biggest.
const pageSize = 64

// All yields the records whose name begins with prefix, page by page, like [Table.List]. A damaged
// record is yielded as its name and an error, and the others follow; any other error is the last.
func (t *Table[T]) All(ctx context.Context, prefix string) iter.Seq2[Entry[T], error] {
	return t.each(ctx, prefix, "", t.entry)
}

// After is [Table.All] for the names that are greater than after.
func (t *Table[T]) After(ctx context.Context, after string) iter.Seq2[Entry[T], error] {
	return t.each(ctx, "", after, t.entry)
}

// Versions is [Table.All] without the values: it decodes nothing.
func (t *Table[T]) Versions(ctx context.Context, prefix string) iter.Seq2[Entry[T], error] {
	return t.each(ctx, prefix, "", func(name string, raw []byte) (Entry[T], error) {
		head, _, err := open(t.key(name), raw)
		if err != nil {
			return Entry[T]{}, err
		}
		return Entry[T]{Name: name, Version: head[0].String()}, nil
	})
}

func (t *Table[T]) each(ctx context.Context, prefix, after string,
	read func(name string, raw []byte) (Entry[T], error)) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		for after, more := after, true; more; {
			page, err := t.page(ctx, prefix, after, pageSize)
			if err != nil {
				yield(Entry[T]{}, err)
				return
			}
			for _, r := range page {
				e, err := read(r.Name, r.Value)
				if err != nil {
					e, err = Entry[T]{Name: r.Name}, t.failed(r.Name, err)
				}
				if !yield(e, err) {
					return
				}
				after = r.Name
			}
			more = len(page) == pageSize
		}
	}
}
