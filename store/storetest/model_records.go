package storetest

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/store"
)

var names = rapid.SampledFrom([]string{"a", "a/", "a/b", "a/b/c", "a0", "b\xff"})

// swap creates, replaces or removes a lasting record, half of the time with an old value that
// does not match.
func (m *model) swap(r *rapid.T) {
	name, value := names.Draw(r, "name"), rapid.StringN(0, 3, -1).Draw(r, "value")
	old := m.records[name]
	if rapid.Bool().Draw(r, "stale") {
		old = rapid.SampledFrom([]string{"", "another", old}).Draw(r, "old")
	}
	held, err := m.s.Swap(r.Context(), name, []byte(old), []byte(value))
	must(r, err)
	if old == m.records[name] {
		m.records[name] = value
	}
	if m.records[name] == "" {
		delete(m.records, name)
	}
	want(r, "held", string(held), m.records[name])
	want(r, "none held", held == nil, m.records[name] == "")
}

// list compares a part of the lasting records.
func (m *model) list(r *rapid.T) {
	prefix := rapid.SampledFrom([]string{"", "a", "a/", "a/b", "b"}).Draw(r, "prefix")
	after := rapid.SampledFrom([]string{"", "a/", "a/a", "a/b", "c"}).Draw(r, "after")
	limit := rapid.IntRange(1, 7).Draw(r, "limit")
	var expect []store.Record
	for _, name := range slices.Sorted(maps.Keys(m.records)) {
		if strings.HasPrefix(name, prefix) && name > after && len(expect) < limit {
			expect = append(expect, store.Record{Name: name, Value: []byte(m.records[name])})
		}
	}
	got, err := m.s.List(r.Context(), prefix, after, limit)
	must(r, err)
	if !slices.EqualFunc(got, expect, func(a, b store.Record) bool {
		return a.Name == b.Name && string(a.Value) == string(b.Value)
	}) {
		r.Fatalf("at most %d records of %q after %q = %q, want %q", limit, prefix, after, got, expect)
	}
}
