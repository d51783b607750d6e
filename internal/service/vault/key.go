package vault

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// keyBytes is the length of a key, and of every key derived from one.
const keyBytes = 32

// Key is a key that a vault seals with. It prints as a [Secret].
type Key struct {
	id     string
	secret Secret
}

// NewKey returns a random key.
func NewKey() Key {
	raw := make([]byte, keyBytes)
	_, _ = rand.Read(raw) // it never fails
	return keyOf(raw)
}

// ParseKey parses a key: 32 raw bytes, or in hex or base64, which may have spaces around. Errors
// do not repeat it.
func ParseKey(text []byte) (Key, error) {
	raw, err := decodeKey(text)
	if err != nil {
		return Key{}, err
	}
	if [keyBytes]byte(raw) == [keyBytes]byte{} {
		return Key{}, errors.New("the key is all zero; generate one with: openssl rand -base64 32")
	}
	return keyOf(raw), nil
}

func decodeKey(text []byte) ([]byte, error) {
	if len(text) == keyBytes {
		if _, err := hex.DecodeString(string(text)); err == nil {
			return nil, errors.New("the key has 16 bytes in hex, 32 are needed; generate one with: openssl rand -hex 32")
		}
		return text, nil
	}
	s := strings.TrimSpace(string(text))
	if raw, err := hex.DecodeString(s); err == nil && len(raw) == keyBytes {
		return raw, nil
	}
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	if raw, err := base64.RawStdEncoding.DecodeString(s); err == nil && len(raw) == keyBytes {
		return raw, nil
	}
	return nil, fmt.Errorf("the key is not 32 bytes, as they are or in hex or base64; generate one with: openssl rand -base64 32")
}

func keyOf(raw []byte) Key {
	k := Key{secret: NewSecret(string(raw))}
	k.id = hex.EncodeToString(k.derive("id")[:8])
	return k
}

// ID identifies a key without revealing anything about it.
func (k Key) ID() string { return k.id }

// text returns the key as it is written to a file.
func (k Key) text() string { return base64.StdEncoding.EncodeToString([]byte(k.secret.Reveal())) }

// derive returns a separate key for a purpose; none reveals anything about another.
func (k Key) derive(purpose string) []byte {
	out, err := hkdf.Key(sha256.New, []byte(k.secret.Reveal()), nil, "weir vault 1: "+purpose, keyBytes)
	if err != nil {
		panic(err) // only for lengths that HKDF does not support
	}
	return out
}
