package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// vaultRecord names the keys that secrets in the store are sealed with.
const vaultRecord = "vault"

// openVault opens the vault of the settings. A key that sealed secrets of this store must be in it: without
// it every action, connection and webhook that has a secret would fail later, one by one.
func openVault(ctx context.Context, c *config.Server, s store.Store, acceptLoss bool) (*vault.Vault, error) {
	known, raw, err := KnownKeys(ctx, s)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(c.Data, vault.FileName)
	if Drawn(c) && !command.Exists(file) && len(known) > 0 && !acceptLoss { // a new key would not open what is there
		return nil, KeyGone(file, known[0], nil)
	}
	v, err := c.OpenVault()
	if err != nil {
		return nil, command.BadUsage("name a file with a key of 32 bytes in vault_key_file", "vault: %v", err)
	}
	if !acceptLoss {
		if err := CheckKeys(ctx, s, v, known, file); err != nil {
			return nil, err
		}
	}
	return v, noteKeys(ctx, s, raw, v.KeyIDs())
}

// Drawn reports whether the key is kept in the data directory, and drawn at the first start.
func Drawn(c *config.Server) bool {
	return c.VaultKeyFile == "" && c.VaultKey.IsZero() && len(c.Redis) == 0
}

// KnownKeys reads the ids of the keys that the store was used with.
func KnownKeys(ctx context.Context, s store.Registry) (ids []string, raw []byte, err error) {
	raw, err = s.Lookup(ctx, vaultRecord)
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

// CheckKeys refuses a vault without a key that a secret in the store was sealed with. A key that sealed nothing is not missed.
func CheckKeys(ctx context.Context, s store.Registry, v *vault.Vault, known []string, file string) error {
	for _, id := range known {
		if slices.Contains(v.KeyIDs(), id) {
			continue
		}
		names, err := sealedWith(ctx, s, id)
		if err != nil {
			return fmt.Errorf("look for secrets that were sealed with key %s: %w", id, err)
		}
		if len(names) > 0 {
			return KeyGone(file, id, names)
		}
	}
	return nil
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
			if vault.SealedWith(r.Value, id) {
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

// KeyGone returns the failure of a vault that lacks key id. names are records that were sealed with it.
func KeyGone(file, id string, names []string) error {
	what := fmt.Sprintf("secrets in the store are encrypted with key %s, which is missing", id)
	if len(names) > 0 {
		what += fmt.Sprintf(" (%s)", strings.Join(names, ", "))
	}
	return command.BadUsage("put "+file+" back from a backup, or name a file that has the key in vault_key_file; "+
		"with --accept-loss the server starts without it, and the secrets must be set again", "%s", what)
}

// noteKeys writes down which keys the store is used with. Of several servers that start at once one is enough: all have the same.
func noteKeys(ctx context.Context, s store.Registry, old []byte, ids []string) error {
	raw, err := json.Marshal(ids)
	if err != nil || string(raw) == string(old) {
		return err
	}
	if _, err := s.Swap(ctx, vaultRecord, old, raw); err != nil {
		return fmt.Errorf("write the ids of the vault's keys: %w", err)
	}
	return nil
}
