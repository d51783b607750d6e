package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
