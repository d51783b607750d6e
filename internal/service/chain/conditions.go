package chain

import (
	"cmp"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// Passing counts how a step's condition decided for the sampled items that reached it. A step that
// was not sampled has no items that reached it.
type Passing struct{ Came, Skipped, Left int64 }

// Conditions returns the conditions of a bulk action, nil where they need outputs; nil if it has
// no conditions.
func (s *Chains) Conditions(b *api.BulkAction) (*Course, error) {
	c := &Course{params: b.Params}
	some, open := false, false
	for i, st := range b.Steps {
		var prog *mapping.Program
		if st.When != "" {
			var err error
			if prog, err = s.programs.compile(mapping.Step{Field: fmt.Sprintf("steps[%d]", i), When: st.When}, c.names); err != nil {
				return nil, err
			}
			if len(prog.Needs()) > 0 || open && len(prog.NeedsDone()) > 0 {
				prog, open = nil, true
			}
			some = some || prog != nil
		}
		id := cmp.Or(st.ID, st.Action)
		c.names, c.progs = append(c.names, id), append(c.progs, prog)
		c.steps = append(c.steps, &Step{ID: id, Action: st.Action, When: st.When, Otherwise: st.Otherwise})
	}
	if !some {
		return nil, nil
	}
	return c, nil
}

// Count records how one item passes the conditions.
func (c *Course) Count(to []Passing, it mapping.Item) {
	for i, prog := range c.progs {
		if prog == nil {
			continue
		}
		to[i].Came++
		switch o := condition(c.steps[i], prog, c.about(i, it)); o.Kind {
		case weir.OutcomeNone:
		case weir.OutcomeDone:
			to[i].Skipped++
		default:
			to[i].Left++
			return
		}
	}
}

// Len returns how many steps the course has.
func (c *Course) Len() int { return len(c.steps) }
