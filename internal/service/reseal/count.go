package reseal

import (
	"context"
	"errors"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// Left says what is sealed with a key.
type Left struct {
	Records     int      // that hold such secrets
	BulkActions int      // whose callback has such a secret
	Names       []string // of the first three
}

// Store is what is read to find secrets.
type Store interface {
	store.Registry
	store.State
}

// Count returns what is sealed with each key, by its id. It reads all records and all specs.
func Count(ctx context.Context, s Store) (map[string]Left, error) {
	c := counting{}
	for after, more := "", true; more; {
		const page = 100
		list, err := s.List(ctx, "", after, page)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			c.note(r.Name, r.Value, func(l *Left) { l.Records++ })
			after = r.Name
		}
		more = len(list) == page
	}
	raw, err := s.Lookup(ctx, own.MapName)
	if errors.Is(err, store.ErrNotFound) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := own.ReadableMap(raw)
	if err != nil {
		return nil, err
	}
	for p := range m.Most {
		err := partition.EachSpec(stored.At(ctx, s, p), func(id weir.BulkID, spec []byte) {
			c.note(string(id), spec, func(l *Left) { l.BulkActions++ })
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// counting is what was found by now, by key.
type counting map[string]Left

// note counts what a record or a spec has once for each key.
func (c counting) note(name string, content []byte, count func(*Left)) {
	var seen []string
	for _, m := range sealedText.FindAllSubmatch(content, -1) {
		id := string(m[1])
		if slices.Contains(seen, id) {
			continue
		}
		seen = append(seen, id)
		l := c[id]
		if count(&l); len(l.Names) < 3 {
			l.Names = append(l.Names, name)
		}
		c[id] = l
	}
}

// Missing returns the first of the known keys that the vault lacks and that a secret in the store was sealed with, and
// what has such secrets. A key that sealed nothing is not missed.
func Missing(ctx context.Context, s Store, v *vault.Vault, known []string) (id string, left Left, err error) {
	known = slices.DeleteFunc(slices.Clone(known), func(id string) bool { return slices.Contains(v.KeyIDs(), id) })
	if len(known) == 0 {
		return "", left, nil
	}
	all, err := Count(ctx, s)
	if err != nil {
		return "", left, err
	}
	for _, id := range known {
		if left, used := all[id]; used {
			return id, left, nil
		}
	}
	return "", left, nil
}

// Any reports whether the key is still needed.
func (l Left) Any() bool { return l.Records+l.BulkActions > 0 }
