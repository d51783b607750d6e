//go:build unix

package serverkill

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"sync"
)

// downstream has the actions. It outlives the server and keeps books of every call.
type downstream struct {
	mu    sync.Mutex
	calls map[string]map[string]*treated // by bulk action, then by item
	wrong []string                       // what should never come
}

// treated records what was done to an item.
type treated struct {
	award, message string // idempotency keys
	again          bool   // it has been asked to come again once
	came           int    // how often
}

func newDownstream() *downstream { return &downstream{calls: map[string]map[string]*treated{}} }

type batch struct {
	Bulk  string `json:"bulk_action"`
	Step  string `json:"step"`
	Items []struct {
		ID   string `json:"id"`
		Key  string `json:"idempotency_key"`
		Data struct{ User, Receipt string }
	} `json:"items"`
}

type result struct {
	ID     string            `json:"id"`
	Status string            `json:"status"`
	Code   string            `json:"code,omitempty"`
	Output map[string]string `json:"output,omitempty"`
}

// ServeHTTP writes down what it is told to do, and does it.
func (d *downstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b batch
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		return // its caller was killed while it was sending: no call has been made
	}
	if b.Step != r.PathValue("step") {
		http.Error(w, "no such step", http.StatusUnprocessableEntity)
		return
	}
	results := make([]result, len(b.Items))
	d.mu.Lock()
	for i, it := range b.Items {
		results[i] = d.treat(&b, it.ID, it.Key, it.Data.User, it.Data.Receipt)
	}
	d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results}) // a caller that was killed does not hear it
}

// treat decides about one item. The caller holds the books.
func (d *downstream) treat(b *batch, id, key, user, receipt string) result {
	of := d.calls[b.Bulk]
	if of == nil {
		of = map[string]*treated{}
		d.calls[b.Bulk] = of
	}
	it := of[id]
	if it == nil {
		it = &treated{}
		of[id] = it
	}
	held := &it.award
	if b.Step == message {
		held = &it.message
	}
	switch {
	case *held != "" && *held != key:
		d.blame("%s of %s at %s came with the keys %q and %q", id, b.Bulk, b.Step, *held, key)
	case user != id || b.Step == message && receipt != "r-"+id:
		d.blame("%s of %s at %s brought user %q and receipt %q", id, b.Bulk, b.Step, user, receipt)
	case b.Step == message && it.award == "":
		d.blame("%s of %s came to %s before %s", id, b.Bulk, message, award)
	}
	*held = key
	it.came++
	switch fateOf(id) {
	case closed:
		return result{ID: id, Status: "failed", Code: "closed"}
	case hiccup:
		if !it.again {
			it.again = true
			return result{ID: id, Status: "retry"}
		}
	}
	return result{ID: id, Status: "done", Output: map[string]string{"receipt": "r-" + id}}
}

func (d *downstream) blame(format string, args ...any) {
	if len(d.wrong) < 20 {
		d.wrong = append(d.wrong, fmt.Sprintf(format, args...))
	}
}

// of returns what was done to an item.
func (d *downstream) of(bulk, id string) treated {
	d.mu.Lock()
	defer d.mu.Unlock()
	if it := d.calls[bulk][id]; it != nil {
		return *it
	}
	return treated{}
}

// came returns how often the items of a bulk action came, and how often they have to: once for each step, and those that
// are asked to come again once more.
func (d *downstream) came(bulk string) (often, have int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, it := range d.calls[bulk] {
		often += it.came
		switch fateOf(id) {
		case closed:
			have++
		case hiccup:
			have += 3
		default:
			have += 2
		}
	}
	return often, have
}

// The fates of items.
const (
	fine   = iota
	closed // fails for good at its first step
	hiccup // has to come twice
)

// fateOf returns the same outcome for every call.
func fateOf(id string) int {
	switch hashOf(id) % 40 {
	case 0:
		return closed
	case 1:
		return hiccup
	}
	return fine
}

func hashOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum32()
}

// segments serves lists of users, page by page.
type segments struct {
	mu     sync.Mutex
	served int // pages
	seen   chan int
}

func newSegments() *segments { return &segments{seen: make(chan int, 1)} }

// ServeHTTP answers with a page; the cursor is how many came before it.
func (s *segments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	users, _ := strconv.Atoi(r.PathValue("users"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor")) // empty: the beginning
	s.mu.Lock()
	s.served++
	n := s.served
	s.mu.Unlock()
	select {
	case s.seen <- n:
	default: // no reader waits
	}
	to := min(users, from+limit)
	page := map[string]any{"items": usersFrom(from, to)}
	if to < users {
		page["next_cursor"] = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page) // the caller may be dead
}

func usersFrom(from, to int) []map[string]any {
	list := make([]map[string]any, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, map[string]any{"id": userID(i), "n": i})
	}
	return list
}

func userID(i int) string { return "user-" + strconv.Itoa(i) }
