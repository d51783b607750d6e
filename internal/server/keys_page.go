package server

import "github.com/weirhq/weir/api"

// pageWith is a page of which the next begins at a place; empty: it is the last.
func pageWith[T any](list []T, next string, of ...string) api.Page[T] {
	page := api.Page[T]{Data: orEmpty(list), HasMore: next != ""}
	if next != "" {
		page.NextCursor = sealCursor(next, of...)
	}
	return page
}

// lister is a list of which the caller may not see everything.
type lister[T, V any] struct {
	name string // of the list and its filters, for cursors
	// read returns entries after a position, and the next position, empty at the end.
	read func(after string, limit int) (page []T, next string, err error)
	id   func(*T) string
	sees func(*T) bool // nil: all that read returns
	view func(*T) (V, error)
}

// sure is a view that cannot fail.
func sure[T, V any](view func(*T) V) func(*T) (V, error) {
	return func(v *T) (V, error) { return view(v), nil }
}

// pageOf is one page of a list. It says that there is more only if the caller
// will see more, and its cursor names nothing that the caller has not seen: what is
// hidden leaves no trace.
func pageOf[T, V any](in *Paging, l lister[T, V]) (api.Page[V], error) {
	page := api.Page[V]{Data: []V{}}
	after, err := openCursor(in.Cursor, l.name)
	if err != nil {
		return page, err
	}
	last := ""
	for {
		found, next, err := l.read(after, in.Limit+1)
		if err != nil {
			return page, err
		}
		for i := range found {
			if l.sees != nil && !l.sees(&found[i]) {
				continue
			}
			if len(page.Data) == in.Limit {
				page.HasMore, page.NextCursor = true, sealCursor(last, l.name)
				return page, nil
			}
			last = l.id(&found[i])
			v, err := l.view(&found[i])
			if err != nil {
				return page, err
			}
			page.Data = append(page.Data, v)
		}
		if next == "" {
			return page, nil
		}
		after = next
	}
}
