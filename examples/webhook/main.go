// Webhook is an HTTP batch action: what a service, in any language, implements
// so that weir can call it. Try it:
//
//	go run ./examples/webhook &
//	go run ./cmd/weir run examples/rewards/users.csv --url http://localhost:9000/award
//
// With -secret it refuses calls that are not signed with that secret.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	listen := flag.String("listen", "localhost:9000", "where the action listens")
	secret := flag.String("secret", "", "the secret that weir signs calls with, whsec_...; empty: signatures are not checked")
	flag.Parse()
	handler, err := newWallet(*secret)
	if err != nil {
		log.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the action is at http://%s/award\n", l.Addr())
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(s.Serve(l))
}

// call is what weir sends: a batch of items.
type call struct {
	DryRun bool `json:"dry_run"` // a trial: do nothing
	Items  []struct {
		ID   string          `json:"id"`
		Key  string          `json:"idempotency_key"` // the same for every attempt at this item
		Data json.RawMessage `json:"data"`
	} `json:"items"`
}

// result is the answer for one item.
type result struct {
	ID      string            `json:"id"`
	Status  string            `json:"status"` // done, retry, failed or left_out
	Output  map[string]string `json:"output,omitempty"`
	Code    string            `json:"code,omitempty"`
	Message string            `json:"message,omitempty"`
}

// wallet gives rewards, and remembers by key what it did.
type wallet struct {
	signed *standardwebhooks.Webhook // nil: calls need no signature
	mu     sync.Mutex
	done   map[string]result
}

// newWallet returns the service. With a secret it refuses calls that are not signed with it.
func newWallet(secret string) (http.Handler, error) {
	w := &wallet{done: map[string]result{}}
	if secret != "" {
		var err error
		if w.signed, err = standardwebhooks.NewWebhook(secret); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /award", w.batch(award))
	mux.HandleFunc("POST /award/undo", w.batch(takeBack))
	return mux, nil
}

// batch reads a call and answers with a result of do for each item, made once for each key.
func (w *wallet) batch(do func(id string, data json.RawMessage) result) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, 64<<20))
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		if w.signed != nil && w.signed.Verify(body, r.Header) != nil {
			http.Error(out, "not signed by weir", http.StatusUnauthorized)
			return
		}
		var in call
		if err := json.Unmarshal(body, &in); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		results := make([]result, len(in.Items))
		for i, it := range in.Items {
			results[i] = w.once(it.Key, in.DryRun, func() result { return do(it.ID, it.Data) })
		}
		out.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(out).Encode(map[string]any{"results": results}); err != nil {
			log.Print(err) // weir sends the batch again
		}
	}
}

// once returns the result of do, or for a key that came before the earlier result.
func (w *wallet) once(key string, dry bool, do func() result) result {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.done[key]; ok {
		return r
	}
	r := do()
	if !dry {
		w.done[key] = r
	}
	return r
}

// award gives a reward, unless the account is closed.
func award(id string, data json.RawMessage) result {
	var user struct {
		Closed bool `json:"closed"`
	}
	if err := json.Unmarshal(data, &user); err != nil {
		return result{ID: id, Status: "failed", Code: "bad_user", Message: err.Error()}
	}
	if user.Closed {
		return result{ID: id, Status: "failed", Code: "closed", Message: "account " + id + " is closed"}
	}
	return result{ID: id, Status: "done", Output: map[string]string{"reward_id": "r-" + id}}
}

// takeBack takes a reward back: data has the input of award, and its output.
func takeBack(id string, data json.RawMessage) result {
	var was struct {
		Output struct {
			Reward string `json:"reward_id"`
		} `json:"output"`
	}
	if err := json.Unmarshal(data, &was); err != nil || was.Output.Reward == "" {
		return result{ID: id, Status: "failed", Code: "no_reward", Message: "no reward to undo"}
	}
	return result{ID: id, Status: "done"}
}
