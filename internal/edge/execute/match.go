package execute

import (
	"errors"

	"github.com/weirhq/weir"
)

// matcher finds the item that a result is for. An id that was sent several times is matched in
// order of appearance.
//
// Most endpoints answer in the order of the request: as long as they do, a comparison is
// enough. The first result out of order builds an index.
type matcher struct {
	items []weir.TaskItem
	sent  []int32
	next  int              // results so far, while all came in order
	first map[string]int32 // position in sent of the first item without a result; -1: all have one
	after []int32          // position in sent of the next item of the same id; -1: none
}

var (
	errNoID  = errors.New("has no id")
	errTwice = errors.New("id has a result already")
)

// match returns a position in items, or -1 for an id that was not sent.
func (m *matcher) match(id string) (int, error) {
	if id == "" {
		return 0, errNoID
	}
	if m.first == nil {
		if m.next < len(m.sent) && m.items[m.sent[m.next]].ID == id {
			m.next++
			return int(m.sent[m.next-1]), nil
		}
		m.index()
	}
	k, known := m.first[id]
	switch {
	case !known:
		return -1, nil
	case k < 0:
		return 0, errTwice
	}
	m.first[id] = m.after[k]
	return int(m.sent[k]), nil
}

func (m *matcher) index() {
	m.first = make(map[string]int32, len(m.sent))
	m.after = make([]int32, len(m.sent))
	for _, i := range m.sent[:m.next] {
		m.first[m.items[i].ID] = -1
	}
	for k := len(m.sent) - 1; k >= m.next; k-- {
		id := m.items[m.sent[k]].ID
		m.after[k] = -1
		if later, ok := m.first[id]; ok {
			m.after[k] = later
		}
		m.first[id] = int32(k)
	}
}
