// Package storetest checks a backend against the promises of package store.
//
// [Run] has one short case per promise, and a state machine that compares the backend with a
// model over random calls. If the backend can crash and reopen, [RunBackend] also checks what
// must survive. [Flaky] makes any store fail on purpose, for tests of its users.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Backend is the backend under test.
type Backend struct {
	// Open returns an empty store. The suite closes it.
	Open func(t *testing.T) store.Store
	// Reopen crashes s, as hard as its Durability survives, and returns it opened again. nil:
	// nothing survives, and survival is not checked.
	Reopen func(t *testing.T, s store.Store) store.Store
}

// Run checks every promise of package store. open returns an empty store.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	RunBackend(t, Backend{Open: open})
}

// RunBackend does the same as [Run] with the optional parts of a backend.
func RunBackend(t *testing.T, b Backend) {
	for _, cases := range [][]testCase{blockCases, inboxCases, stateCases, leaseCases, registryCases, recordCases,
		quotaCases, closeCases} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				s := b.Open(t)
				defer closeStore(t, s)
				c.run(t, s)
			})
		}
	}
	if b.Reopen != nil {
		for _, c := range durableCases {
			t.Run(c.name, func(t *testing.T) {
				s := b.Open(t)
				reopen := func() store.Store { s = b.Reopen(t, s); return s }
				defer func() { closeStore(t, s) }()
				c.run(t, s, reopen)
			})
		}
	}
	portable(t, b)
	t.Run("random calls agree with the model", func(t *testing.T) { compare(t, b) })
}

type testCase struct {
	name string
	run  func(t *testing.T, s store.Store)
}

// Where most cases run.
const (
	part  = 3
	other = 4
	bulk  = weir.BulkID("ba_one")
	long  = time.Hour // a lease that outlasts the test
)

// patience bounds a call that should return at once.
const patience = 10 * time.Second

func closeStore(t testing.TB, s store.Store) {
	if err := s.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// fataler is the common part of testing and rapid.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func wantErr(t fataler, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error = %v, want %v", got, want)
	}
}

func want[T comparable](t fataler, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

func acquire(t fataler, s store.Store, partition int, owner string) store.Token {
	t.Helper()
	tok, err := s.Acquire(t.Context(), partition, owner, long)
	must(t, err)
	return tok
}

func appendMessage(t fataler, s store.Store, partition int, body string) {
	t.Helper()
	must(t, s.Append(t.Context(), partition, []byte(body), store.Claim{}))
}

// inbox returns the bodies of all messages after seq, of which there must be at least one.
func inbox(t fataler, s store.Store, partition int, after uint64) (bodies []string, last uint64) {
	t.Helper()
	for _, m := range read(t, s, partition, after) {
		bodies = append(bodies, string(m.Body))
		last = m.Seq
	}
	return bodies, last
}

// read fails instead of waiting for ever for lost messages.
func read(t fataler, s store.Store, partition int, after uint64) []store.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := s.Read(ctx, partition, after, 1_000_000)
	must(t, err)
	return m
}

// wantEmpty checks that a partition's inbox has nothing after seq.
func wantEmpty(t fataler, s store.Store, partition int, after uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	m, err := s.Read(ctx, partition, after, 10)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Read of an empty inbox = %v, %v; want it to wait", m, err)
	}
}

// rows returns the rows under a prefix as "key=value" in the order of Scan.
func rows(t fataler, s store.Store, partition int, prefix string) []string {
	t.Helper()
	var got []string
	must(t, s.Scan(t.Context(), partition, []byte(prefix), func(k, v []byte) error {
		got = append(got, fmt.Sprintf("%s=%s", k, v))
		return nil
	}))
	return got
}

// page returns what Page does, as rows does.
func page(t fataler, s store.Store, partition int, r store.Range, limit int) []string {
	t.Helper()
	found, err := s.Page(t.Context(), partition, r, limit)
	must(t, err)
	got := []string{}
	for _, r := range found {
		got = append(got, fmt.Sprintf("%s=%s", r.Key, r.Value))
	}
	return got
}

// many returns the values that GetMany returns, "nil" for nil.
func many(t fataler, s store.Store, partition int, keys ...string) []string {
	t.Helper()
	asked := make([][]byte, len(keys))
	for i, k := range keys {
		asked[i] = []byte(k)
	}
	values, err := s.GetMany(t.Context(), partition, asked)
	must(t, err)
	want(t, "number of values", len(values), len(keys))
	got := make([]string, len(values))
	for i, v := range values {
		if got[i] = string(v); v == nil {
			got[i] = "nil"
		}
	}
	return got
}

// set builds a batch of rows "key", "value", "key", "value", ...
func set(number uint64, kv ...string) *store.Batch {
	b := &store.Batch{Number: number}
	for i := 0; i < len(kv); i += 2 {
		b.Set = append(b.Set, store.Row{Key: []byte(kv[i]), Value: []byte(kv[i+1])})
	}
	return b
}
