package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/store"
)

// recordName names the record with the ids of the keys that secrets in the store are sealed with.
const recordName = "vault"

// KnownKeys reads the ids of the keys that the store was used with.
func KnownKeys(ctx context.Context, s store.Registry) (ids []string, raw []byte, err error) {
	raw, err = s.Lookup(ctx, recordName)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &ids)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the ids of the vault's keys: %w", err)
	}
	return ids, raw, nil
}

// NoteKeys writes down which keys the store is used with; old is the record as KnownKeys read it. Of several servers
// that start at once one is enough: all have the same.
func (v *Vault) NoteKeys(ctx context.Context, s store.Registry, old []byte) error {
	raw, err := json.Marshal(v.ids)
	if err != nil || string(raw) == string(old) {
		return err
	}
	if _, err := s.Swap(ctx, recordName, old, raw); err != nil {
		return fmt.Errorf("write the ids of the vault's keys: %w", err)
	}
	return nil
}

// Missing returns the first of the known keys that the vault lacks and that a secret in the store was sealed with, and
// the names of some records with such a secret. A key that sealed nothing is not missed.
func (v *Vault) Missing(ctx context.Context, s store.Registry, known []string) (id string, names []string, err error) {
	for _, id := range known {
		if slices.Contains(v.ids, id) {
			continue
		}
		names, err := sealedWith(ctx, s, id)
		if err != nil {
			return "", nil, fmt.Errorf("look for secrets that were sealed with key %s: %w", id, err)
		}
		if len(names) > 0 {
			return id, names, nil
		}
	}
	return "", nil, nil
}

// sealedWith names records that hold a secret sealed with a key: the first three.
func sealedWith(ctx context.Context, s store.Registry, id string) (names []string, err error) {
	const page, enough = 100, 3
	for after := ""; len(names) < enough; {
		list, err := s.List(ctx, "", after, page)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if SealedWith(r.Value, id) {
				names = append(names, r.Name)
			}
			after = r.Name
		}
		if len(list) < page {
			break
		}
	}
	return names[:min(len(names), enough)], nil
}
