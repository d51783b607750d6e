package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
)

// remembered is a request that was made with an Idempotency-Key, and its answer.
type remembered struct {
	Digest string `json:"digest"` // of method, path and body
	// Fields tells which fields differ in another request with the same key.
	Fields map[string]string `json:"fields,omitempty"`
	Route  string            `json:"route"`
	// By is the process that works on the request, and Claim tells this try from all others. Both are empty
	// between two tries.
	By    string    `json:"by,omitempty"`
	Claim string    `json:"claim,omitempty"`
	At    time.Time `json:"at"` // of the last try, for the removal of old records alone
	// ID is the id of the object that the request creates. It is stored before any work, so that each attempt creates the same object.
	ID     string      `json:"id,omitempty"`
	Status int         `json:"status,omitempty"` // of the answer; 0: the request has not been decided
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// attempt is one try of a request with an Idempotency-Key.
type attempt struct {
	name  string // of the record
	nonce string
	first bool // no try before it may have done anything
	// entry is the record as this try wrote it last.
	entry records.Entry[remembered]
}

var (
	errAnswered = errors.New("answered before")
	errClaimed  = errors.New("another try has the claim")
)

// take claims a request for this process, or says why it cannot: it was
// answered, the key belongs to another request, or another try is under way.
func (s *Server) take(ctx context.Context, name, key string, want remembered) (c *attempt, err error) {
	want.By, want.Claim = s.opts.Name, rand.Text()
	s.working.begin(want.Claim)
	defer func() {
		if err != nil {
			s.working.end(want.Claim)
		}
		if errors.Is(err, store.ErrUnknown) { // the record may have the claim of a try that is none
			none := &attempt{name: name, nonce: want.Claim, entry: records.Entry[remembered]{Name: name}}
			s.settle(context.WithoutCancel(ctx), none, func(*remembered) error { return nil })
		}
	}()
	for over := ""; ; {
		c = &attempt{name: name, nonce: want.Claim}
		var other remembered
		c.entry, err = s.answers.PutNew(ctx, name, func(m *remembered, found bool) error {
			switch {
			case found && m.Digest != want.Digest:
				return conflict(key, m, want.Fields)
			case found && m.Status != 0:
				return errAnswered
			case found && m.Claim != "" && m.Claim != over && m.Claim != want.Claim:
				other = *m
				return errClaimed
			}
			c.first, want.ID = !found, m.ID
			*m = want
			return nil
		})
		if !errors.Is(err, errClaimed) {
			return c, err
		}
		if err := s.underWay(ctx, name, &other); err != nil {
			return nil, err
		}
		over = other.Claim
	}
}

// underWay refuses a request while a try of it is under way. A process knows its
// own tries. A try of another process ends with the membership of that process,
// which the store keeps by its own clock. If the store is full, a try that has
// ended could not say so, and the answer is that the store is full.
func (s *Server) underWay(ctx context.Context, name string, m *remembered) error {
	busy, err := s.working.has(m.Claim), error(nil)
	if m.By != s.opts.Name && s.opts.Alive != nil {
		busy, err = s.opts.Alive(ctx, m.By)
		if err == nil && busy {
			_, full := s.answers.Update(ctx, name, func(m *remembered) error { m.At = time.Now().UTC(); return nil })
			if errors.Is(full, store.ErrFull) {
				return full
			}
		}
	}
	if err == nil && busy {
		err = newProblem("in_progress", "another try of the same request is under way", "ask again").after(time.Second)
	}
	return err
}

// settle ends a try by changing its record, unless another try has taken over. A
// store that is away is asked again later: other processes wait for it.
func (s *Server) settle(ctx context.Context, c *attempt, change func(*remembered) error) {
	now, keep := s.whileAnswering(ctx)
	err := s.change(now, c, change)
	keep()
	if err == nil {
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "end of a request with an Idempotency-Key not stored, will be tried again",
		slog.String("request_id", requestID(ctx)), slog.Any("error", err))
	go func() {
		for wait := settleAgain; err != nil; wait = min(2*wait, settleMost) {
			select {
			case <-time.After(wait):
				err = s.change(ctx, c, change)
			case <-s.stop: // with the process its claims end
				return
			}
		}
	}()
}

const (
	settleAgain = 50 * time.Millisecond
	settleMost  = time.Second
	// settleFor bounds one attempt.
	settleFor = 10 * time.Second
)

// errRelease is returned by a change that removes the record.
var errRelease = errors.New("the key is free again")

// change changes the record of a try that still has the claim.
func (s *Server) change(ctx context.Context, c *attempt, change func(*remembered) error) error {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	_, err := s.answers.UpdateFrom(ctx, c.entry, func(m *remembered) error {
		if m.Claim != c.nonce {
			return errClaimed
		}
		if err := change(m); err != nil {
			return err
		}
		m.By, m.Claim = "", ""
		return nil
	})
	switch {
	case errors.Is(err, errClaimed), errors.Is(err, weir.ErrNotFound):
		return nil
	case !errors.Is(err, errRelease):
		return err
	}
	for {
		e, err := s.answers.Get(ctx, c.name)
		switch {
		case errors.Is(err, weir.ErrNotFound), err == nil && e.Value.Claim != c.nonce:
			return nil
		case err != nil:
			return err
		}
		err = s.answers.DeleteIf(ctx, c.name, e.Version)
		if !errors.Is(err, records.ErrChanged) && !errors.Is(err, weir.ErrNotFound) {
			return err
		}
	}
}

// claims are the tries that this process works on.
type claims struct {
	mu  sync.Mutex
	all map[string]struct{}
}

func (c *claims) begin(nonce string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]struct{}{}
	}
	c.all[nonce] = struct{}{}
}

func (c *claims) end(nonce string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, nonce)
}

func (c *claims) has(nonce string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.all[nonce]
	return ok
}
