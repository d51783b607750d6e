package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weirhq/weir/store"
)

var inboxCases = []testCase{
	{"messages come in order with rising numbers", func(t *testing.T, s store.Store) {
		for _, b := range []string{"one", "two", "three"} {
			appendMessage(t, s, part, b)
		}
		m, err := s.Read(t.Context(), part, 0, 10)
		must(t, err)
		want(t, "messages", len(m), 3)
		for i, text := range []string{"one", "two", "three"} {
			want(t, "body", string(m[i].Body), text)
			if i > 0 && m[i].Seq <= m[i-1].Seq {
				t.Fatalf("sequence numbers %d, %d do not rise", m[i-1].Seq, m[i].Seq)
			}
		}
	}},
	{"a peek shows what there is, and does not wait", func(t *testing.T, s store.Store) {
		m, err := s.Peek(t.Context(), part, 0, 10)
		must(t, err)
		want(t, "messages of an empty inbox", len(m), 0)
		for _, b := range []string{"one", "two", "three"} {
			appendMessage(t, s, part, b)
		}
		m, err = s.Peek(t.Context(), part, 0, 2)
		must(t, err)
		want(t, "messages", len(m), 2)
		want(t, "body", string(m[1].Body), "two")
		m, err = s.Peek(t.Context(), part, m[1].Seq, 2)
		must(t, err)
		want(t, "messages behind them", len(m), 1)
		want(t, "body", string(m[0].Body), "three")
		m, err = s.Peek(t.Context(), part, m[0].Seq, 2)
		must(t, err)
		want(t, "messages behind the last", len(m), 0)
	}},
	{"claims of a generation that is over are refused, and those made before stay", func(t *testing.T, s store.Store) {
		must(t, s.Append(t.Context(), part, []byte("one"), store.Claim{Key: "k", Value: []byte("1"), Generation: 3}))
		must(t, s.CloseClaims(t.Context(), part, 4))
		must(t, s.CloseClaims(t.Context(), part, 2)) // an earlier one changes nothing
		wantErr(t, s.Append(t.Context(), part, []byte("two"), store.Claim{Key: "l", Generation: 3}), store.ErrMoved)
		wantErr(t, s.Append(t.Context(), part, []byte("two"), store.Claim{Key: "k", Generation: 3}), store.ErrClaimed)
		_, err := s.Claimed(t.Context(), part, "l")
		wantErr(t, err, store.ErrNotFound)
		must(t, s.Append(t.Context(), part, []byte("two"), store.Claim{Key: "l", Generation: 4}))
		must(t, s.Append(t.Context(), other, []byte("x"), store.Claim{Key: "l", Generation: 3}))
		must(t, s.Append(t.Context(), part, []byte("three"), store.Claim{}))
		bodies, _ := inbox(t, s, part, 0)
		want(t, "messages", fmt.Sprint(bodies), "[one two three]")
	}},
	{"read begins behind the number given and stops at the limit", func(t *testing.T, s store.Store) {
		for i := range 5 {
			appendMessage(t, s, part, fmt.Sprint(i))
		}
		first, err := s.Read(t.Context(), part, 0, 2)
		must(t, err)
		want(t, "messages with limit 2", len(first), 2)
		rest, _ := inbox(t, s, part, first[1].Seq)
		want(t, "the rest", fmt.Sprint(rest), "[2 3 4]")
	}},
	{"read waits for the first message", func(t *testing.T, s store.Store) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got := make(chan []store.Message, 1)
		go func() {
			m, err := s.Read(ctx, part, 0, 10)
			if err != nil {
				t.Errorf("Read() = %v", err)
			}
			got <- m
		}()
		appendMessage(t, s, other, "for another partition")
		appendMessage(t, s, part, "hello")
		m := <-got
		want(t, "messages", len(m), 1)
		want(t, "body", string(m[0].Body), "hello")
	}},
	{"read ends with its context", func(t *testing.T, s store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.Read(ctx, part, 0, 10)
			ended <- err
		}()
		cancel()
		wantErr(t, <-ended, context.Canceled)
	}},
	{"appends at the same time are all read, each once, in order", func(t *testing.T, s store.Store) {
		const writers, each = 8, 40
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					if err := s.Append(t.Context(), part, []byte{byte(w), byte(i)}, store.Claim{}); err != nil {
						t.Errorf("Append() = %v", err)
					}
				}
			})
		}
		readAll(t, s, writers, each)
		wg.Wait()
	}},
	{"of 32 claims at once one wins and the others learn its value", func(t *testing.T, s store.Store) {
		const n = 32
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				v := fmt.Appendf(nil, "claimer %d", i)
				errs[i] = s.Append(t.Context(), part, v, store.Claim{Key: "order-7", Value: v})
			})
		}
		wg.Wait()
		bodies, _ := inbox(t, s, part, 0)
		want(t, "messages", len(bodies), 1)
		won := 0
		for _, err := range errs {
			var claimed *store.ClaimedError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &claimed):
				t.Errorf("Append() = %v, want a *ClaimedError", err)
			case string(claimed.Value) != bodies[0]:
				t.Errorf("value of the claim = %q, want the winner's %q", claimed.Value, bodies[0])
			}
		}
		want(t, "winners", won, 1)
	}},
	{"who is told of a claim can read its message", func(t *testing.T, s store.Store) {
		for round := range 20 {
			claim := store.Claim{Key: fmt.Sprint("order-", round), Value: []byte("v")}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if err := s.Append(t.Context(), part, []byte("m"), claim); err == nil {
						return
					} else if !errors.Is(err, store.ErrClaimed) {
						t.Errorf("Append() = %v, want %v", err, store.ErrClaimed)
					}
					found, err := s.Peek(t.Context(), part, 0, round+1)
					if err != nil || len(found) != round+1 {
						t.Errorf("Peek() after %q was claimed: %d messages, %v; want %d", claim.Key, len(found), err, round+1)
					}
				})
			}
			wg.Wait()
		}
	}},
	{"a refused claim writes no message", func(t *testing.T, s store.Store) {
		c := store.Claim{Key: "k", Value: []byte("first")}
		must(t, s.Append(t.Context(), part, []byte("first"), c))
		err := s.Append(t.Context(), part, []byte("second"), store.Claim{Key: "k", Value: []byte("second")})
		wantErr(t, err, store.ErrClaimed)
		bodies, _ := inbox(t, s, part, 0)
		want(t, "messages", fmt.Sprint(bodies), "[first]")
	}},
	{"a claim can be asked for and belongs to its partition", func(t *testing.T, s store.Store) {
		_, err := s.Claimed(t.Context(), part, "k")
		wantErr(t, err, store.ErrNotFound)
		must(t, s.Append(t.Context(), part, nil, store.Claim{Key: "k", Value: []byte("v")}))
		v, err := s.Claimed(t.Context(), part, "k")
		must(t, err)
		want(t, "claim", string(v), "v")
		_, err = s.Claimed(t.Context(), other, "k")
		wantErr(t, err, store.ErrNotFound)
	}},
	{"message and claim are copied", func(t *testing.T, s store.Store) {
		body, value := []byte("body"), []byte("value")
		must(t, s.Append(t.Context(), part, body, store.Claim{Key: "k", Value: value}))
		copy(body, "xxxx")
		copy(value, "xxxxx")
		m, err := s.Read(t.Context(), part, 0, 1)
		must(t, err)
		copy(m[0].Body, "yyyy")
		bodies, _ := inbox(t, s, part, 0)
		want(t, "body", bodies[0], "body")
		v, err := s.Claimed(t.Context(), part, "k")
		must(t, err)
		want(t, "claim", string(v), "value")
	}},
}

// readAll reads while others append, and checks that each writer's messages come in its order.
func readAll(t *testing.T, s store.Store, writers, each int) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := make([]byte, writers)
	var after uint64
	for n := 0; n < writers*each; {
		m, err := s.Read(ctx, part, after, 7)
		must(t, err)
		for _, m := range m {
			if m.Seq <= after {
				t.Fatalf("message %d after %d", m.Seq, after)
			}
			after = m.Seq
			w, i := m.Body[0], m.Body[1]
			want(t, fmt.Sprintf("next message of writer %d", w), i, next[w])
			next[w]++
			n++
		}
	}
	wantEmpty(t, s, part, after)
}
