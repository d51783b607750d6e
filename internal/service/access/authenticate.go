package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weirhq/weir"
)

const (
	// freshFor is how long a key is trusted without reading its record: less than the second within
	// which a revocation must hold everywhere.
	freshFor = 800 * time.Millisecond
	// usedEvery is how often the last use of a key is written.
	usedEvery = time.Minute
	// usedWithin bounds how long that write may delay a caller.
	usedWithin = time.Second
)

// BootstrapID is the key id of a caller with a key of the configuration.
const BootstrapID = "bootstrap"

// bootstrap is that caller. A key that is in the configuration and was made here as well is not this one: it can be revoked.
var bootstrap = Principal{KeyID: BootstrapID, Name: BootstrapID, Scopes: []Scope{Admin}}

// Authenticate returns the principal of a key. Errors are [ErrNoCredentials], [ErrBadCredentials],
// and those of the store, after which the result is unknown.
func (k *Keys) Authenticate(ctx context.Context, text string) (Principal, error) {
	return k.authenticate(ctx, text, func(string, hash) error { return nil })
}

// AuthenticateFrom is [Keys.Authenticate] for callers from the network. An address that sent too many invalid keys gets a
// *[LimitError] for further ones, which cost the store nothing then. Valid keys are accepted whatever other callers
// behind their address send: many people may share one, that of a proxy for example.
func (k *Keys) AuthenticateFrom(ctx context.Context, from netip.Addr, text string) (Principal, error) {
	p, err := k.authenticate(ctx, text, func(id string, shown hash) error {
		limit := k.failures.check(from, time.Now())
		if limit == nil || id == "" {
			return limit
		}
		right, err := k.roster.right(ctx, id, shown)
		switch {
		case err != nil:
			return fmt.Errorf("authenticate: %w", err)
		case right:
			return nil
		}
		return limit
	})
	if errors.Is(err, ErrBadCredentials) {
		k.failures.add(from, time.Now())
	}
	return p, err
}

// authenticate calls mayTry before it looks an unknown key up. The id is empty if the text has none.
func (k *Keys) authenticate(ctx context.Context, text string, mayTry func(id string, shown hash) error) (Principal, error) {
	if text == "" {
		return Principal{}, ErrNoCredentials
	}
	shown := hashOf(text)
	id, formed := idOf(text)
	ours := k.isBootstrap(shown)
	if ours && !formed {
		return bootstrap, nil
	}
	key, state := k.known.get(id, shown, time.Now())
	if state == unknown && !ours {
		if err := mayTry(id, shown); err != nil {
			return Principal{}, err
		}
	}
	if !formed {
		return Principal{}, ErrBadCredentials
	}
	if state != fresh {
		var err error
		key, err = k.look(ctx, id, shown)
		if ours && errors.Is(err, ErrBadCredentials) {
			return bootstrap, nil // it was made elsewhere
		}
		if err != nil {
			return Principal{}, err
		}
	}
	if key.dead(time.Now()) {
		k.known.forget(id)
		return Principal{}, ErrBadCredentials
	}
	k.used(ctx, id)
	return Principal{KeyID: key.ID, Name: key.Name, Scopes: key.Scopes, Tenants: key.Tenants}, nil
}

// isBootstrap compares with all keys, so that its duration reveals nothing.
func (k *Keys) isBootstrap(shown hash) bool {
	found := false
	for _, b := range k.bootstrap {
		found = b.equal(shown.sum[:]) || found
	}
	return found
}

// look reads a key's record and caches it if the text was right. The record counts as old as the
// request for it, since the response may have been delayed.
func (k *Keys) look(ctx context.Context, id string, shown hash) (*Key, error) {
	asked := time.Now()
	e, err := k.table.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return nil, ErrBadCredentials
	}
	if err != nil {
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	if !shown.equal(e.Value.Hash) {
		return nil, ErrBadCredentials
	}
	key := &e.Value.Key
	k.known.put(id, shown, key, asked)
	return key, nil
}

// used records that a key was used, once a minute. A failure to record it does not refuse the
// caller.
func (k *Keys) used(ctx context.Context, id string) {
	now := time.Now().UTC()
	if !k.known.claimUse(id, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, usedWithin)
	defer cancel()
	_, _ = k.table.Update(ctx, id, func(s *storedKey) error {
		if now.Sub(s.Used) >= usedEvery { // otherwise another node has written it
			s.Used = now
		}
		return nil
	})
}
