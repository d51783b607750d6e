package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/plain"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
)

// Bounds of a key.
const (
	maxName    = 128 // bytes of its name, and of a tenant's
	maxTenants = 1000
)

// Key describes an API key.
type Key struct {
	ID      string    `json:"id"` // key_ and a ULID, so ids sort by time
	Name    string    `json:"name"`
	Scopes  []Scope   `json:"scopes"`
	Tenants []string  `json:"tenants,omitempty"` // none: all
	Created time.Time `json:"created"`
	By      string    `json:"by"`                 // id of the key that created it
	Expires time.Time `json:"expires,omitzero"`   // zero: never
	Used    time.Time `json:"last_used,omitzero"` // accurate to a minute
	Revoked time.Time `json:"revoked,omitzero"`   // zero: not revoked
}

// dead reports whether a key is revoked or expired.
func (k *Key) dead(now time.Time) bool {
	return !k.Revoked.IsZero() || !k.Expires.IsZero() && !now.Before(k.Expires)
}

// storedKey is the record of a key.
type storedKey struct {
	Key
	Hash []byte `json:"sha256"`
}

// NewKey describes a key to be created.
type NewKey struct {
	// ID is an id from [NewID], for a caller that may have to repeat the creation. Default: a new id.
	ID      string
	Name    string
	Scopes  []Scope
	Tenants []string  // none: all
	Expires time.Time // zero: never
}

// Options configures [NewKeys]. The zero value is ready for production.
type Options struct {
	// Bootstrap holds keys of the configuration, at least 32 bytes each. Each is accepted with the
	// scope admin and all tenants, and is not stored. They serve to create the first keys.
	Bootstrap []vault.Secret
}

// Keys creates, finds, revokes and authenticates API keys. It may be used by many goroutines, and
// by many nodes on one store.
type Keys struct {
	table     *records.Table[storedKey]
	bootstrap []hash
	known     *cache
	failures  *failures
	roster    *roster
}

// NewKeys returns the keys in a store.
func NewKeys(s records.Keeper, o Options) (*Keys, error) {
	k := &Keys{table: records.New[storedKey](s, "key"), known: newCache(), failures: newFailures()}
	k.roster = &roster{table: k.table}
	for _, b := range o.Bootstrap {
		if len(b.Reveal()) < 32 || strings.ContainsFunc(b.Reveal(), unicode.IsSpace) {
			return nil, &weir.FieldError{
				Code: "out_of_range", Field: "bootstrap_key", Problem: "has fewer than 32 bytes, or contains spaces",
				Fix: "generate one with: openssl rand -hex 32",
			}
		}
		k.bootstrap = append(k.bootstrap, hashOf(b.Reveal()))
	}
	return k, nil
}

// Create creates a key. Its text is returned here and never again. A caller cannot create a key
// with more access than its own.
//
// Creating a key again under its id, for example after a crash lost the response, replaces its
// text: the former text becomes invalid. A key that was used or revoked stays as it is, and is
// returned without a text.
func (k *Keys) Create(ctx context.Context, by Principal, spec NewKey) (Key, vault.Secret, error) {
	now := time.Now().UTC()
	if err := spec.check(by, now); err != nil {
		return Key{}, vault.Secret{}, err
	}
	id := cmp.Or(spec.ID, NewID())
	text := textOf(id)
	h := hashOf(text.Reveal())
	made := Key{
		ID: id, Name: spec.Name, Scopes: slices.Clone(spec.Scopes), Tenants: slices.Clone(spec.Tenants),
		Created: now, By: by.KeyID, Expires: spec.Expires.UTC(),
	}
	known := false
	e, err := k.table.Put(ctx, id, func(s *storedKey, found bool) error {
		if found && !s.like(&made) {
			return records.ErrExists
		}
		if known = found && (!s.Used.IsZero() || !s.Revoked.IsZero()); !known {
			*s = storedKey{made, h.sum[:]}
		}
		return nil
	})
	k.known.forget(id) // also after an error: it may have been written
	if err != nil {
		return Key{}, vault.Secret{}, fmt.Errorf("create a key: %w", err)
	}
	if known {
		text = vault.Secret{}
	} else {
		k.roster.add(id, h)
	}
	return e.Value.Key, text, nil
}

// like reports whether two keys grant the same.
func (k *Key) like(o *Key) bool {
	return k.Name == o.Name && slices.Equal(k.Scopes, o.Scopes) && slices.Equal(k.Tenants, o.Tenants) && k.Expires.Equal(o.Expires)
}

func (n *NewKey) check(by Principal, now time.Time) error {
	bad := &weir.InputError{}
	if !isName(n.Name) {
		bad.Add("bad_text", "name", fmt.Sprintf("%.40q is not a valid name", n.Name),
			fmt.Sprintf("write 1 to %d bytes without control characters", maxName))
	}
	if len(n.Scopes) == 0 {
		bad.Add("missing_field", "scopes", "is empty", "name at least one of "+scopeNames())
	}
	for i, s := range n.Scopes {
		switch field := fmt.Sprintf("scopes[%d]", i); {
		case !slices.Contains(Scopes(), s):
			bad.Add("bad_value", field, fmt.Sprintf("%.40q is not a valid scope", s), "use some of "+scopeNames())
		case !by.May(s):
			bad.Add("missing_scope", field, fmt.Sprintf("your key lacks %q", s), "leave it out, or use a key that has it")
		}
	}
	n.checkTenants(by, bad)
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		bad.Add("bad_time", "expires", fmt.Sprintf("%s is in the past", n.Expires.Format(time.RFC3339)),
			"use a future time, or leave it out")
	}
	return bad.OrNil()
}

func (n *NewKey) checkTenants(by Principal, bad *weir.InputError) {
	if len(n.Tenants) == 0 && !by.SeesAll() {
		bad.Add("missing_scope", "tenants", "is empty, which means all tenants, but your key is limited to some",
			"name tenants that your key can access")
	}
	if len(n.Tenants) > maxTenants {
		bad.Add("out_of_range", "tenants", fmt.Sprintf("has %d entries", len(n.Tenants)), fmt.Sprintf("name at most %d", maxTenants))
		return
	}
	for i, t := range n.Tenants {
		switch field := fmt.Sprintf("tenants[%d]", i); {
		case !isName(t):
			bad.Add("bad_text", field, fmt.Sprintf("%.40q is not a valid tenant name", t),
				fmt.Sprintf("use 1 to %d bytes without control characters", maxName))
		case !by.Sees(t):
			bad.Add("missing_scope", field, fmt.Sprintf("your key cannot access %q", t), "name tenants that your key can access")
		}
	}
}

// isName reports whether a text is a valid name of a tenant or a key.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, plain.Refused) && !plain.Blank(s)
}

// Get returns a key, or [weir.ErrNotFound], also if by may not see it.
func (k *Keys) Get(ctx context.Context, by Principal, id string) (Key, error) {
	e, err := k.table.Get(ctx, id)
	if err == nil && !by.covers(e.Value.Tenants) {
		err = weir.ErrNotFound
	}
	if err != nil {
		return Key{}, fmt.Errorf("key: %w", err)
	}
	return e.Value.Key, nil
}

// List returns the keys that by may see with an id after a given one, oldest first. It reads at
// most limit keys, so a page may hold fewer without being the last: next is the id to continue
// after, and empty at the end.
func (k *Keys) List(ctx context.Context, by Principal, after string, limit int) (page []Key, next string, err error) {
	found, err := k.table.List(ctx, "", after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("keys: %w", err)
	}
	for _, e := range found {
		if by.covers(e.Value.Tenants) {
			page = append(page, e.Value.Key)
		}
	}
	if len(found) == limit {
		next = found[limit-1].Name
	}
	return page, next, nil
}

// Revoke makes a key permanently invalid, on all nodes within a second. Revoking it again changes
// nothing. It returns [weir.ErrNotFound] as [Keys.Get] does.
func (k *Keys) Revoke(ctx context.Context, by Principal, id string) (Key, error) {
	e, err := k.table.Update(ctx, id, func(s *storedKey) error {
		if !by.covers(s.Tenants) {
			return weir.ErrNotFound
		}
		if s.Revoked.IsZero() {
			s.Revoked = time.Now().UTC()
		}
		return nil
	})
	k.known.forget(id) // also after an error: it may have been written
	if err != nil {
		return Key{}, fmt.Errorf("revoke: %w", err)
	}
	return e.Value.Key, nil
}
