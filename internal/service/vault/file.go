package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// FileName is the key file of a data directory.
const FileName = "vault.key"

// maxFile bounds the size of a key file; hundreds of keys fit.
const maxFile = 64 << 10

// Unwrapper decrypts keys that a key file has in encrypted form: a key-management service, which keeps its own key.
type Unwrapper interface {
	// Unwrap returns the 32 bytes of a key. Its error does not repeat them.
	Unwrap(ctx context.Context, wrapped string) ([]byte, error)
}

// wrappedPrefix begins an encrypted key, as the transit engine of OpenBao and of HashiCorp Vault writes it.
const wrappedPrefix = "vault:v"

// LoadFile reads a vault from a key file: a key of 32 raw bytes, or one key per line in hex or
// base64, newest first; lines that begin with # are comments. Only the owner may be able to change
// the file, and it must not be readable by all users.
func LoadFile(name string) (*Vault, error) {
	text, err := ReadFile(name)
	if err == nil {
		var v *Vault
		if v, err = Load(text); err == nil {
			return v, nil
		}
	}
	return nil, fmt.Errorf("key file %s: %w", name, err)
}

// LoadWrapped does the same as LoadFile for a file that may have encrypted keys, which begin with vault:v.
func LoadWrapped(ctx context.Context, name string, u Unwrapper) (*Vault, error) {
	text, err := ReadFile(name)
	if err == nil {
		var v *Vault
		if v, err = LoadText(ctx, text, u); err == nil {
			return v, nil
		}
	}
	return nil, fmt.Errorf("key file %s: %w", name, err)
}

// Load makes a vault of the content of a key file; see [LoadFile].
func Load(text []byte) (*Vault, error) {
	return load(text, func(string) ([]byte, error) {
		return nil, errors.New("the key is encrypted, and no service to decrypt it is configured; set vault_transit.url")
	})
}

func load(text []byte, unwrap func(string) ([]byte, error)) (*Vault, error) {
	keys, err := parseKeys(text, unwrap)
	if err != nil {
		return nil, err
	}
	return New(keys[0], keys[1:]...)
}

// LoadText makes a vault of the content of a key file that may have encrypted keys.
func LoadText(ctx context.Context, text []byte, u Unwrapper) (*Vault, error) {
	if u == nil {
		return Load(text)
	}
	return load(text, func(wrapped string) ([]byte, error) { return u.Unwrap(ctx, wrapped) })
}

// CheckText checks the content of a key file, without decrypting encrypted keys.
func CheckText(text []byte) error {
	_, err := parseKeys(text, func(string) ([]byte, error) { return []byte(NewKey().secret.Reveal()), nil })
	return err
}

// LoadOrCreate reads the vault from the key file in a data directory. If the file is missing, it
// creates one; see [Create].
func LoadOrCreate(dir string) (*Vault, error) {
	name := filepath.Join(dir, FileName)
	if err := Create(name); err != nil {
		return nil, err
	}
	return LoadFile(name)
}

// Create makes a key file with a new key that only the owner may read, unless the file exists. Of
// several concurrent creators, all get the key of one.
func Create(name string) error {
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("vault: %w", err)
		}
		if err := writeKey(name, NewKey()); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("key file %s: %w", name, err)
		}
	}
	return nil
}

// ReadFile returns the content of a key file, if no one else can read or change the file.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// A group may read: orchestrators pass secrets to a process that way. Windows has no such modes.
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o037 != 0 {
		return nil, fmt.Errorf("its mode is %04o, so others can read or change it; run: chmod 600 %s", mode, name)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("it is not a file of at most %d bytes", maxFile)
	}
	return os.ReadFile(name)
}

func parseKeys(text []byte, unwrap func(wrapped string) ([]byte, error)) ([]Key, error) {
	if len(text) == keyBytes {
		k, err := ParseKey(text)
		return []Key{k}, err
	}
	var keys []Key
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		if bytes.HasPrefix(line, []byte(wrappedPrefix)) {
			raw, err := unwrap(string(line))
			if err == nil && len(raw) != keyBytes {
				err = fmt.Errorf("the decrypted key has %d bytes, want %d", len(raw), keyBytes)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			keys = append(keys, keyOf(raw))
			continue
		}
		if len(line) == keyBytes {
			return nil, fmt.Errorf("line %d: the key must be in hex or base64 if the file has more than its 32 bytes", n)
		}
		k, err := ParseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("it holds no key; generate one with: openssl rand -base64 32")
	}
	return keys, nil
}

// writeKey writes a key file atomically, also in case of a crash. It does not replace an existing
// file.
func writeKey(name string, k Key) error {
	f, err := os.CreateTemp(filepath.Dir(name), FileName+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the key file is another name of it
	_, err = f.WriteString("# Keys that seal secrets, newest first. This file opens every sealed secret; without it they " +
		"stay sealed.\n" + k.text() + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// syncDir makes new names durable. Windows cannot sync a directory.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
