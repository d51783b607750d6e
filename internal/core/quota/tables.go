package quota

import (
	"time"

	"github.com/weirhq/weir/store"
)

// Tables holds the tables of many limits. The rate and the concurrency of a resource, which
// differ in their window, are separate limits.
type Tables map[name]*Table

type name struct {
	resource string
	window   time.Duration
}

// Of returns the table of a limit, with its present units. A new table learns until the given
// moment: 0 where nothing can have been forgotten.
func (t Tables) Of(l store.Limit, learn int64) *Table {
	n := name{l.Resource, l.Window}
	table := t[n]
	if table == nil {
		table = New(l)
		table.Learn(learn)
		t[n] = table
	}
	table.SetUnits(l.Units)
	return table
}
