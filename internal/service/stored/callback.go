package stored

import (
	"fmt"

	"github.com/weirhq/weir/internal/service/vault"
)

// Seal returns the callback with its secret sealed for a place: the id of a bulk action, or the
// name of what creates one.
func (c *Callback) Seal(v *vault.Vault, place string) (*Callback, error) {
	if c == nil || c.Secret == "" || vault.IsSealed(c.Secret) {
		return c, nil
	}
	sealed, err := v.Seal("callback/"+place, []byte(c.Secret))
	if err != nil {
		return nil, err
	}
	out := *c
	out.Secret = sealed
	return &out, nil
}

// Open returns the callback with the secret that was sealed for a place in plain text.
func (c *Callback) Open(v *vault.Vault, place string) (*Callback, error) {
	if c == nil || c.Secret == "" {
		return c, nil
	}
	plain, err := v.Open("callback/"+place, c.Secret)
	if err != nil {
		return nil, fmt.Errorf("secret of the callback of %s: %w", place, err)
	}
	out := *c
	out.Secret = string(plain)
	return &out, nil
}

// KeepSecret keeps the stored secret of a callback if s omits it and the URL is the same. Secrets
// are never shown, so a client that sends back a request it read has none.
func (s *Spec) KeepSecret(old *Spec) {
	if c := s.Callback; c != nil && c.Secret == "" && old.Callback != nil && old.Callback.URL == c.URL {
		kept := *c
		kept.Secret = old.Callback.Secret
		s.Callback = &kept
	}
}
