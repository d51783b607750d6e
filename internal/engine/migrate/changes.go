package migrate

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// change is what it takes to read what was stored before a format.
type change struct {
	format int // the first that has it
	do     work
}

// work changes the rows of one partition. It is repeated from the start if it was killed.
type work int

// The kinds of work. Several changes may need the same, which is done once.
const (
	newIndex work = iota // build the index again, as this version has it
)

// changes lists all changes since the oldest format that is read, in the order of their numbers.
var changes = [...]change{
	{3, newIndex}, // rows of words have tenant and name, and words have a row for their first character
	{4, newIndex}, // large bulk actions have a term of their own: they are in no joint filter
}

// since lists the work that data of a format needs.
func since(format int) (list []work) {
	seen := map[work]bool{}
	for _, c := range changes {
		if c.format > format && !seen[c.do] {
			seen[c.do] = true
			list = append(list, c.do)
		}
	}
	return list
}

// Bounds of a commit.
const (
	bulksAtOnce = 100
	rowsAtOnce  = 2000
)

func (w work) run(ctx context.Context, p *part) error {
	switch w {
	case newIndex:
		return index(ctx, p)
	default:
		panic("a change without work")
	}
}

// index removes the index of a partition and builds it again.
func index(ctx context.Context, p *part) error {
	rows := stored.At(ctx, p.s, p.no)
	for {
		old, err := partition.OldIndex(rows, rowsAtOnce)
		if err != nil {
			return err
		}
		if len(old) == 0 {
			break
		}
		if err := p.commit(ctx, store.Batch{Delete: old}); err != nil {
			return err
		}
	}
	for next, more := weir.BulkID(""), true; more; {
		made, after, err := partition.NewIndex(rows, next, bulksAtOnce)
		if err != nil {
			return err
		}
		if len(made) > 0 {
			if err := p.commit(ctx, store.Batch{Set: made}); err != nil {
				return err
			}
		}
		next, more = after, after != ""
	}
	return nil
}
