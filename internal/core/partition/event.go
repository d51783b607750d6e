package partition

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Event is something about a bulk action that somebody outside has to be told
// of. It lies in a row, written by the commit that made it true, until it was
// noted: none is lost, and its number tells repeats apart.
type Event struct {
	ID     weir.BulkID    `json:"id"`
	Number uint64         `json:"number"` // of the commit
	State  weir.BulkState `json:"state"`
	Late   bool           `json:"late,omitempty"` // it is about the deadline: that will not be met
	At     int64          `json:"at"`
}

// Noted says that an event was taken.
type Noted struct {
	ID     weir.BulkID `json:"id"`
	Number uint64      `json:"number"`
}

// EncodeNoted makes the inbox message that an event was taken.
func EncodeNoted(e Event) ([]byte, error) {
	return json.Marshal(envelope{Noted: &Noted{e.ID, e.Number}})
}

func eventKey(id weir.BulkID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(rowKey(kindEvent, id), number)
}

// event has the commit being made tell that the bulk action has come to where it is.
// A commit tells of one state alone: two events would have the same number, and
// the one before was never seen.
func (m *Machine) event(now int64, b *bulk) {
	m.tell(b, Event{ID: b.spec.ID, State: b.state, At: now})
}

// tell has the commit being made tell of an event. It returns false if it has another that
// is more important: then the event is to be told later.
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

// noted removes an event that was taken.
func (m *Machine) noted(n *Noted) {
	m.gen.noted = append(m.gen.noted, eventKey(n.ID, n.Number))
}

// loadEvents hands out again what nobody has noted.
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
