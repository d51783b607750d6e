//go:build unix

package serverkill

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// receiver is told what happens to bulk actions, and does not always listen.
type receiver struct {
	mu   sync.Mutex
	told map[string][]telling // by bulk action
}

// telling is one delivery that came.
type telling struct {
	who  string // hook or callback
	id   string // of the event
	kind string
	body string
	took bool // it was answered with a 2xx
}

func newReceiver() *receiver { return &receiver{told: map[string][]telling{}} }

// ServeHTTP refuses the first delivery of one event in six.
func (e *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var ev struct {
		Type string
		Data struct{ ID string }
	}
	if err != nil || json.Unmarshal(raw, &ev) != nil {
		return // its sender was killed
	}
	one := telling{who: r.PathValue("who"), id: r.Header.Get("Webhook-Id"), kind: ev.Type, body: string(raw)}
	e.mu.Lock()
	defer e.mu.Unlock()
	one.took = hashOf(one.id)%6 != 0 || e.knows(ev.Data.ID, one)
	e.told[ev.Data.ID] = append(e.told[ev.Data.ID], one)
	if !one.took {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// knows reports whether a delivery came before. The caller holds the lock.
func (e *receiver) knows(bulk string, one telling) bool {
	for _, t := range e.told[bulk] {
		if t.who == one.who && t.id == one.id {
			return true
		}
	}
	return false
}

// of returns what was told of a bulk action.
func (e *receiver) of(bulk string) []telling {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]telling(nil), e.told[bulk]...)
}
