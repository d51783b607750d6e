// Package records keeps single JSON records by name, with compare-and-swap, on a
// store's registry.
//
// A [Table] holds the records of one kind. There is no transaction over two
// records: what must be decided at once belongs into one. Every write draws a
// random mark, which is the record's [Entry].Version and lets a writer whose
// answer was lost find out whether it has written.
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
	// ErrExists means that there is a record of that name.
	ErrExists = errors.New("the name is already in use")
	// ErrChanged means that the record is not of that version any more.
	ErrChanged = errors.New("it was changed since it was read")
	// ErrTooBig means that a record does not fit: its name or its JSON is too long. Nothing was written.
	ErrTooBig = errors.New("it is too large to store")
)

// Keeper is what a table needs of a store; every [store.Registry] is one.
type Keeper interface {
	Swap(ctx context.Context, name string, old, value []byte) ([]byte, error)
	Lookup(ctx context.Context, name string) ([]byte, error)
	List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error)
}

// Table is the records of one kind, each the JSON of a T.
type Table[T any] struct {
	keeper Keeper
	kind   string
}

// Entry is a record as it was read or written.
type Entry[T any] struct {
	Name  string
	Value T
	// Version is another after every write, also after one that removed the record and made
	// it anew. It is of letters and digits, good for an entity tag.
	Version string
}

// New returns the table of a kind, which is one word without a slash: the store
// knows its records as kind/name.
func New[T any](s Keeper, kind string) *Table[T] {
	if kind == "" || strings.Contains(kind, "/") {
		panic(fmt.Sprintf("records: kind %q must be one word without a slash", kind))
	}
	return &Table[T]{s, kind}
}

// key is the name by which the store knows a record.
func (t *Table[T]) key(name string) string { return t.kind + "/" + name }

// failed says which record an error is about.
func (t *Table[T]) failed(name string, err error) error {
	return fmt.Errorf("%s %q: %w", t.kind, name, err)
}

// lookup returns the stored bytes of a record, nil if there is none.
func (t *Table[T]) lookup(ctx context.Context, name string) ([]byte, error) {
	if name == "" {
		return nil, nil // no record is without a name
	}
	raw, err := t.keeper.Lookup(ctx, t.key(name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return raw, err
}

// entry reads the stored bytes of a record.
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

// List returns the records whose name begins with prefix and is greater than
// after, in byte order of names: at most limit, which is at least 1, and fewer
// only if there are no more. A record that is there during the whole call is
// listed. A damaged one is an error that names it; [Table.All] gets past it.
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

// page lists stored records by the names that the table gives them.
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

// All goes through the records whose name begins with prefix, page by page, as
// [Table.List] does. A damaged record comes as its name and an error, and the
// others follow; any other error is the last.
func (t *Table[T]) All(ctx context.Context, prefix string) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		for after, more := "", true; more; {
			page, err := t.page(ctx, prefix, after, pageSize)
			if err != nil {
				yield(Entry[T]{}, err)
				return
			}
			for _, r := range page {
				e, err := t.entry(r.Name, r.Value)
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
