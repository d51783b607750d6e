package redisstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// names lists the names of all lasting records.
func names(t *testing.T, s store.Registry) string {
	t.Helper()
	list, err := s.List(t.Context(), "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, r := range list {
		names = append(names, r.Name)
	}
	return fmt.Sprint(names)
}

func swapped(t *testing.T, s store.Registry, name, old, value string) {
	t.Helper()
	held, err := s.Swap(t.Context(), name, []byte(old), []byte(value))
	if err != nil || string(held) != value {
		t.Fatalf("Swap(%q, %q, %q) = %q, %v", name, old, value, held, err)
	}
}

func TestARecordFromBeforeThereWasAnIndexIsFoundAndComesIntoIt(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	for _, name := range []string{"map", "scaling"} {
		swapped(t, s, name, "", "one")
	}
	r.Do("DEL", controlKeys+"records")
	if got := names(t, s); got != "[]" {
		t.Fatalf("without an index the list is %s", got)
	}
	if v, err := s.Lookup(t.Context(), "map"); err != nil || string(v) != "one" {
		t.Errorf("Lookup() = %q, %v; want one", v, err)
	}
	swapped(t, s, "map", "one", "two")
	if got := names(t, s); got != "[map]" {
		t.Errorf("List() = %s, want the record that was replaced", got)
	}
	swapped(t, s, "scaling", "one", "")
	if v, err := s.Lookup(t.Context(), "scaling"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Lookup of what was removed = %q, %v; want ErrNotFound", v, err)
	}
}

func TestRemovedRecordsLeaveNothingBehind(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	for i := range 10 {
		swapped(t, s, fmt.Sprint("a/", i), "", "one")
	}
	for i := range 10 {
		swapped(t, s, fmt.Sprint("a/", i), "one", "")
	}
	if n := r.Do("EXISTS", controlKeys+"records", controlKeys+"record:a/1"); n != "0" {
		t.Errorf("%s keys are left, want 0", n)
	}
}

// TestANameOfTheIndexWithoutARecordIsPassedOver is about a record that is removed
// between the two steps of a list: the list goes on behind it up to its limit.
func TestANameOfTheIndexWithoutARecordIsPassedOver(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	for i := range 300 { // more than one answer has
		swapped(t, s, fmt.Sprintf("a/%03d", i), "", "one")
		if i%2 == 1 {
			r.Do("DEL", fmt.Sprintf("%srecord:a/%03d", controlKeys, i))
		}
	}
	for limit, last := range map[int]string{1: "a/000", 100: "a/198", 150: "a/298"} {
		list, err := s.List(t.Context(), "a/", "", limit)
		if err != nil || len(list) != limit || list[limit-1].Name != last {
			t.Errorf("List of at most %d = %d records, %v; want all, the last %s", limit, len(list), err, last)
		}
	}
}

func TestAServerWithoutMemoryStillRemovesRecords(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	swapped(t, s, "a", "", "one")
	swapped(t, s, "b", "", "one")
	r.Do("CONFIG", "SET", "maxmemory", "1")
	for _, name := range []string{"a", "new"} {
		old := map[string]string{"a": "one"}[name]
		if v, err := s.Swap(t.Context(), name, []byte(old), []byte("two")); !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("Swap of %q = %q, %v; want ErrFull", name, v, err)
		}
	}
	swapped(t, s, "b", "one", "")
	if got := names(t, s); got != "[a]" {
		t.Errorf("List() = %s, want a alone", got)
	}
	if v, err := s.Lookup(t.Context(), "a"); err != nil || string(v) != "one" {
		t.Errorf("Lookup() = %q, %v; want what it was", v, err)
	}
}
