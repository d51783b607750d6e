package serve

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/service/reseal"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// openVault opens the vault of the settings. A key that sealed secrets of this store must be in it: without
// it every action, connection and webhook that has a secret would fail later, one by one.
func openVault(ctx context.Context, c *config.Server, s store.Store, acceptLoss bool) (*vault.Vault, error) {
	known, raw, err := vault.KnownKeys(ctx, s)
	if err != nil {
		return nil, err
	}
	file := VaultFile(c)
	if Drawn(c) && !command.Exists(file) && len(known) > 0 && !acceptLoss { // a new key would not open what is there
		return nil, KeyGone(file, known[0], nil)
	}
	v, err := c.OpenVault(ctx)
	if err != nil {
		return nil, command.BadUsage("name a file with a key of 32 bytes in vault_key_file", "vault: %v", err)
	}
	if !acceptLoss {
		if err := CheckKeys(ctx, s, v, known, cmp.Or(c.VaultKeyFile, file)); err != nil {
			return nil, err
		}
	}
	return v, v.NoteKeys(ctx, s, raw)
}

// VaultFile returns the path of the key that is drawn at the first start.
func VaultFile(c *config.Server) string { return filepath.Join(c.Data, vault.FileName) }

// Drawn reports whether the key is kept in the data directory, and drawn at the first start.
func Drawn(c *config.Server) bool {
	return c.VaultKeyFile == "" && c.VaultKey.IsZero() && len(c.Redis) == 0
}

// CheckKeys refuses a vault without a key that a secret in the store was sealed with.
func CheckKeys(ctx context.Context, s store.Store, v *vault.Vault, known []string, file string) error {
	id, left, err := reseal.Missing(ctx, s, v, known)
	if err == nil && id != "" {
		err = KeyGone(file, id, left.Names)
	}
	return err
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
