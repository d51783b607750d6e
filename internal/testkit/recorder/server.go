package recorder

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// LifeHeader carries which start of the caller makes a call.
const LifeHeader = "X-Life"

// PlannedHeader and SentHeader carry when the caller took a call up and when it
// made it, in Unix nanoseconds, if it wants to tell.
const (
	PlannedHeader = "X-Planned"
	SentHeader    = "X-Sent"
)

// How many calls there are for one that is refused.
const (
	oneIn429 = 61
	oneIn503 = 151
)

// refusedFor is the Retry-After of a refused call, in seconds.
const refusedFor = "0.1"

// Options configures a [Server].
type Options struct {
	// Seed determines the outcomes.
	Seed uint64
	// Latency is the approximate time of a call: between half and one and a half of it.
	// Default: none.
	Latency time.Duration
	// NoRefusals leaves out the 429s and 503s.
	NoRefusals bool
}

// Server answers POST /award and POST /message, and logs each call.
type Server struct {
	o   Options
	log *Log

	mu    sync.Mutex
	calls uint64
	seen  map[string]int // answered calls by idempotency key
}

// NewServer returns a server that writes to log.
func NewServer(log *Log, o Options) *Server {
	return &Server{o: o, log: log, seen: map[string]int{}}
}

type call struct {
	Bulk    string `json:"bulk_action"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Items   []item `json:"items"`
}

type item struct {
	ID   string `json:"id"`
	Key  string `json:"idempotency_key"`
	Data Data   `json:"data"`
}

// Data is the input of the actions for an item.
type Data struct {
	User  string `json:"user"`            // the item's id: a mix-up shows
	Award string `json:"award,omitempty"` // what step award answered; empty at that step
}

// Answer is the output of both actions.
type Answer struct {
	Receipt string `json:"receipt"`
}

type reply struct {
	Results []result `json:"results"`
}

type result struct {
	ID      string  `json:"id"`
	Status  string  `json:"status"`
	Code    string  `json:"code,omitempty"`
	Message string  `json:"message,omitempty"`
	Output  *Answer `json:"output,omitempty"`
}

// ServeHTTP logs the call and answers it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := time.Now()
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return // its caller was killed while it was sending: no call has been made
	}
	life, err := strconv.Atoi(r.Header.Get(LifeHeader))
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/"+c.Step || c.Step != Award && c.Step != Message {
		http.Error(w, fmt.Sprintf("no such action: %s %s for step %q with life %q", r.Method, r.URL.Path, c.Step,
			r.Header.Get(LifeHeader)),
			http.StatusUnprocessableEntity)
		return
	}
	planned, _ := strconv.ParseInt(r.Header.Get(PlannedHeader), 10, 64) // 0 if it does not tell
	sent, _ := strconv.ParseInt(r.Header.Get(SentHeader), 10, 64)
	entries := make([]Entry, len(c.Items))
	for i, it := range c.Items {
		entries[i] = Entry{
			Life: life, Bulk: c.Bulk, Step: c.Step, Item: it.ID, Key: it.Key, Attempt: c.Attempt,
			Planned: planned, Sent: sent, Received: received.UnixNano(),
		}
	}
	n, status := s.admit()
	s.wait(n)
	if status != http.StatusOK {
		s.refuse(w, status, entries)
		return
	}
	s.answer(w, &c, entries)
}

// admit numbers the call and returns whether it is refused.
func (s *Server) admit() (n uint64, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	switch {
	case s.o.NoRefusals:
	case s.calls%oneIn429 == 0:
		return s.calls, http.StatusTooManyRequests
	case s.calls%oneIn503 == 0:
		return s.calls, http.StatusServiceUnavailable
	}
	return s.calls, http.StatusOK
}

// wait takes the call's time, also when its caller is gone: real services do.
func (s *Server) wait(n uint64) {
	if s.o.Latency <= 0 {
		return
	}
	part := mix(s.o.Seed, "latency", strconv.FormatUint(n, 10)) % 1000
	d := s.o.Latency/2 + s.o.Latency*time.Duration(part)/1000
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}

func (s *Server) refuse(w http.ResponseWriter, status int, entries []Entry) {
	for i := range entries {
		entries[i].Answer, entries[i].Code = Refused, strconv.Itoa(status)
	}
	if !s.record(w, entries) {
		return
	}
	w.Header().Set("Retry-After", refusedFor)
	http.Error(w, "too busy", status)
}

func (s *Server) answer(w http.ResponseWriter, c *call, entries []Entry) {
	out := reply{make([]result, len(c.Items))}
	for i, it := range c.Items {
		e := &entries[i]
		s.judge(e, it.Data)
		out.Results[i] = result{ID: it.ID, Status: e.Answer, Code: e.Code, Message: e.Message}
		switch e.Answer {
		case Done:
			out.Results[i].Output = &Answer{Output(s.o.Seed, c.Step, it.ID)}
		case Wrong:
			out.Results[i].Status = Failed
		}
	}
	if !s.record(w, entries) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // a caller that was killed does not hear it: that is the point
}

// judge decides the answer for one item.
func (s *Server) judge(e *Entry, d Data) {
	if wrong := s.wrong(e, d); wrong != "" {
		e.Answer, e.Code, e.Message = Wrong, "wrong_input", wrong
		return
	}
	s.mu.Lock()
	before := s.seen[e.Key]
	s.seen[e.Key]++
	s.mu.Unlock()
	f := FateOf(s.o.Seed, e.Step, e.Item)
	switch {
	case f.Busy:
		e.Answer, e.Code, e.Message = Retry, f.Code, f.Message
	case before < f.Retries:
		e.Answer, e.Code, e.Message = Retry, "hiccup", "try again"
	case f.Code != "":
		e.Answer, e.Code, e.Message = Failed, f.Code, f.Message
	default:
		e.Answer = Done
	}
}

// wrong returns what is wrong with an item's input; empty: nothing.
func (s *Server) wrong(e *Entry, d Data) string {
	award := ""
	if e.Step == Message {
		award = Output(s.o.Seed, Award, e.Item)
	}
	if d.User != e.Item || d.Award != award {
		return fmt.Sprintf("got user %q and award %q, want %q and %q", d.User, d.Award, e.Item, award)
	}
	return ""
}

// record writes before anything is answered. A log that cannot be written must be noticed: the
// caller never succeeds then.
func (s *Server) record(w http.ResponseWriter, entries []Entry) bool {
	if err := s.log.add(entries); err != nil {
		http.Error(w, fmt.Sprintf("log of the recorder: %v", err), http.StatusInternalServerError)
		return false
	}
	return true
}
