package demo

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir"
)

// maxCall is the most bytes in a call to [Server].
const maxCall = 64 << 20

// Server has the actions as HTTP batch endpoints: POST /award and POST
// /message. It shows what a service that weir calls looks like, with the ways
// in which real ones are unpleasant: 429 with Retry-After, results that ask for
// a later attempt, and answers that leave out half of the items.
func Server(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /award", &endpoint{service: newService(Award, o)})
	mux.Handle("POST /message", &endpoint{service: newService(Message, o)})
	return mux
}

type endpoint struct{ *service }

type call struct {
	Attempt int        `json:"attempt"`
	Items   []callItem `json:"items"`
}

type callItem struct {
	ID       string          `json:"id"`
	Key      string          `json:"idempotency_key"`
	Data     json.RawMessage `json:"data"`
	Previous json.RawMessage `json:"previous"`
}

type reply struct {
	Results []replyItem `json:"results"`
}

type replyItem struct {
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	Output     json.RawMessage `json:"output,omitempty"`
	Code       string          `json:"code,omitempty"`
	Message    string          `json:"message,omitempty"`
	RetryAfter string          `json:"retry_after,omitempty"`
}

// ServeHTTP answers a call with a result per item.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in call
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&in); err != nil {
		http.Error(w, fmt.Sprintf("body is not a batch of items: %v", err), http.StatusBadRequest)
		return
	}
	if len(in.Items) > 0 && e.wait(r.Context(), in.Items[0].ID) != nil {
		return // the client is gone
	}
	if refused, ok := weir.AsRefused(e.refuse()); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(refused.After.Seconds()))))
		http.Error(w, refused.Err.Error(), http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(e.reply(&in)) // a caller that hung up asks again
}

func (e *endpoint) reply(in *call) reply {
	items := in.Items
	if n := e.calls.Load(); !e.o.NoFaults && n%halfOneIn == halfOneIn/2 {
		items = items[:(len(items)+1)/2]
	}
	out := reply{make([]replyItem, len(items))}
	for i, it := range items {
		o := e.outcome(&weir.TaskItem{ID: it.ID, Data: it.Data, Previous: it.Previous}, in.Attempt)
		out.Results[i] = replyItem{ID: it.ID, Status: o.Kind.String(), Output: o.Output, Code: o.Code, Message: o.Message}
		if o.After > 0 {
			out.Results[i].RetryAfter = o.After.Round(time.Millisecond).String()
		}
	}
	return out
}
