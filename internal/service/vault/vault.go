package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Errors to branch on with [errors.Is].
var (
	// ErrNotSealed means that a text is not a sealed secret.
	ErrNotSealed = errors.New("it is not a sealed secret")
	// ErrBroken means that a sealed secret was changed, or was sealed for another place.
	ErrBroken = errors.New("the sealed secret was changed, or belongs to another place")
)

// MissingKeyError means that a secret was sealed with a key that the vault does not have.
type MissingKeyError struct {
	KeyID string   // of the missing key
	Have  []string // ids of the available keys
}

// Error names the missing key.
func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("the secret was sealed with key %s, which is missing (available: %s); add that key to the vault's keys",
		e.KeyID, strings.Join(e.Have, ", "))
}

// Vault seals and opens secrets. It may be used by many goroutines.
type Vault struct {
	newest Key
	ids    []string
	seals  map[string]cipher.AEAD // by key id
}

// New returns a vault that seals with the newest key and opens with all.
func New(newest Key, older ...Key) (*Vault, error) {
	v := &Vault{newest: newest, seals: map[string]cipher.AEAD{}}
	for _, k := range append([]Key{newest}, older...) {
		if k.id == "" {
			return nil, errors.New("vault: a key is empty; read it with ParseKey")
		}
		block, err := aes.NewCipher(k.derive("seal"))
		if err != nil {
			return nil, fmt.Errorf("vault: key %s: %w", k.id, err)
		}
		if v.seals[k.id], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("vault: key %s: %w", k.id, err)
		}
		v.ids = append(v.ids, k.id)
	}
	return v, nil
}

// prefix begins every sealed secret; another format gets another prefix.
const prefix = "sealed1."

// Seal encrypts plain so that it opens only with the same where, which names the place it is
// stored at, such as "webhook/wh_01k9x/secret". The result is printable ASCII.
func (v *Vault) Seal(where string, plain []byte) (string, error) {
	if where == "" {
		return "", errors.New("vault: seal: a secret needs a place it belongs to")
	}
	id := v.newest.id
	box := v.seals[id].Seal(nil, nil, plain, bound(id, where))
	return prefix + id + "." + base64.RawURLEncoding.EncodeToString(box), nil
}

// bound returns what a sealed secret is tied to besides its key. An id has no zero byte, so no two
// pairs give the same.
func bound(id, where string) []byte { return []byte(prefix + id + "\x00" + where) }

// Open returns the plain text. Errors are [ErrNotSealed], a *[MissingKeyError] or [ErrBroken].
func (v *Vault) Open(where, sealed string) ([]byte, error) {
	id, box, err := split(sealed)
	if err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	seal, ok := v.seals[id]
	if !ok {
		return nil, fmt.Errorf("vault: %w", &MissingKeyError{id, v.ids})
	}
	plain, err := seal.Open(nil, nil, box, bound(id, where))
	if err != nil {
		return nil, fmt.Errorf("vault: %w", ErrBroken) // the cause adds nothing
	}
	return plain, nil
}

// strict refuses meaningless bits at the end, so that no two texts open alike.
var strict = base64.RawURLEncoding.Strict()

func split(sealed string) (id string, box []byte, err error) {
	rest, ok := strings.CutPrefix(sealed, prefix)
	id, text, dot := strings.Cut(rest, ".")
	if !ok || !dot || id == "" || strings.ContainsAny(text, "\r\n") { // the decoder would skip line breaks
		return "", nil, ErrNotSealed
	}
	if box, err = strict.DecodeString(text); err != nil {
		return "", nil, ErrNotSealed
	}
	return id, box, nil
}

// IsSealed reports whether a text looks like a result of [Vault.Seal].
func IsSealed(text string) bool {
	_, _, err := split(text)
	return err == nil
}

// KeyIDs lists the keys, newest first.
func (v *Vault) KeyIDs() []string { return v.ids }
