// Webhook is an HTTP batch action: what a service, in any language, implements
// so that weir can call it. It needs nothing but the standard library. Try it:
//
//	go run ./examples/webhook &
//	go run ./cmd/weir run examples/rewards/users.csv --url http://localhost:8080/award
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"
)

// call is what weir sends: a batch of items.
type call struct {
	Items []struct {
		ID   string          `json:"id"`
		Key  string          `json:"idempotency_key"` // the same for every attempt at this item
		Data json.RawMessage `json:"data"`
	} `json:"items"`
}

// result is the answer for one item. Status is done, retry or failed.
type result struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Output  any    `json:"output,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type answer struct {
	Results []result `json:"results"`
}

// wallet remembers by key what it did, so that a second attempt does nothing twice.
type wallet struct {
	mu   sync.Mutex
	done map[string]result
}

func newWallet() http.Handler {
	w := &wallet{done: map[string]result{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /award", w.award)
	return mux
}

func (w *wallet) award(out http.ResponseWriter, r *http.Request) {
	var in call
	if err := json.NewDecoder(http.MaxBytesReader(out, r.Body, 64<<20)).Decode(&in); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	a := answer{Results: make([]result, 0, len(in.Items))}
	for _, it := range in.Items {
		a.Results = append(a.Results, w.once(it.Key, it.ID, it.Data))
	}
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(a); err != nil {
		log.Print(err) // weir sends the batch again
	}
}

// once gives the reward for a key, or says again what it said before.
func (w *wallet) once(key, id string, data json.RawMessage) result {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.done[key]; ok {
		return r
	}
	var user struct {
		Closed bool `json:"closed"`
	}
	r := result{ID: id, Status: "done", Output: map[string]string{"reward_id": fmt.Sprintf("r-%d", len(w.done)+1)}}
	if err := json.Unmarshal(data, &user); err != nil || user.Closed {
		r = result{ID: id, Status: "failed", Code: "closed", Message: "the account is closed"}
	}
	w.done[key] = r
	return r
}

func main() {
	s := &http.Server{Addr: "localhost:8080", Handler: newWallet(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(s.ListenAndServe())
}
