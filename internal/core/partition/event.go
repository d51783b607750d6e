package partition

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Event reports a change of a bulk action to the outside. The commit that makes the change also
// writes the event to a row, where it stays until it was noted: no event is lost, and its
// number identifies repeats.
type Event struct {
	ID     weir.BulkID    `json:"id"`
	Number uint64         `json:"number"` // of the commit
	State  weir.BulkState `json:"state"`
	Late   bool           `json:"late,omitempty"` // the deadline will not be met
	At     int64          `json:"at"`
	// Of is the bulk action as it was created or last changed. It is not stored: nil after a takeover.
	Of *Created `json:"-"`
}

// notedFor is the longest time that the row of a delivered event waits for a commit that has something else to write.
// An owner that is lost in that time leaves an event that its successor delivers again.
const notedFor = int64(time.Second)

func eventKey(id weir.BulkID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(rowKey(kindEvent, id), number)
}

// event adds an event for the bulk action's present state to the next commit. A commit carries
// one state: two events would have the same number, and the earlier state was never visible.
func (m *Machine) event(now int64, b *bulk) {
	m.tell(b, Event{ID: b.spec.ID, State: b.state, At: now, Of: b.spec})
}

// tell adds an event to the next commit. It returns false if the commit has a more important
// one: then the caller has to try again later.
func (m *Machine) tell(b *bulk, e Event) bool {
	if !b.spec.Notify || b.away() {
		return true
	}
	if b.tells == m.gen {
		if e.Late {
			return false
		}
		b.status.Late = b.status.Late && !m.gen.events[b.tellsAt].Late
		m.gen.events[b.tellsAt] = e
		return true
	}
	b.tells, b.tellsAt = m.gen, len(m.gen.events)
	m.gen.events = append(m.gen.events, e)
	return true
}

// writeEvents adds the rows of events, and removes those of events that were noted.
func (m *Machine) writeEvents(b *store.Batch, g *generation) {
	for i := range g.events {
		e := &g.events[i]
		e.Number = b.Number
		b.Set = append(b.Set, SealJSON(eventKey(e.ID, e.Number), e))
	}
	b.Delete = append(b.Delete, g.noted...)
}

// Noted reports that an event was delivered. Its row is removed with the next commit.
func (m *Machine) Noted(now int64, e Event) {
	if len(m.gen.noted) == 0 {
		m.gen.forget = now + notedFor
	}
	m.gen.noted = append(m.gen.noted, eventKey(e.ID, e.Number))
}

// loadEvents returns events again that were not noted.
func (m *Machine) loadEvents(rows Rows) error {
	return rows.Scan([]byte{kindEvent}, func(key, row []byte) error {
		var e Event
		if err := UnsealJSON(key, row, &e); err != nil {
			return fmt.Errorf("event: %w", err)
		}
		m.events = append(m.events, e)
		return nil
	})
}
