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
	// freshFor is how long a key is trusted without looking at its record: less than
	// the second within which a revocation has to hold everywhere.
	freshFor = 800 * time.Millisecond
	// usedEvery is how often the last use of a key is written.
	usedEvery = time.Minute
	// usedWithin bounds what that may cost a caller.
	usedWithin = time.Second
)

// BootstrapID is the key id of whoever shows a key of the configuration.
const BootstrapID = "bootstrap"

// Authenticate finds who shows a key. Errors are [ErrNoCredentials],
// [ErrBadCredentials], and those of the store, after which nothing is known.
func (k *Keys) Authenticate(ctx context.Context, text string) (Principal, error) {
	return k.authenticate(ctx, text, func() error { return nil })
}

// AuthenticateFrom is [Keys.Authenticate] for callers from the network. An address
// from which too many wrong keys came gets a *[LimitError] for keys that were not
// valid here before; a key in use is never slowed down by others behind its address.
func (k *Keys) AuthenticateFrom(ctx context.Context, from netip.Addr, text string) (Principal, error) {
	p, err := k.authenticate(ctx, text, func() error { return k.failures.check(from, time.Now()) })
	if errors.Is(err, ErrBadCredentials) {
		k.failures.add(from, time.Now())
	}
	return p, err
}

// authenticate asks mayTry before it spends anything on a key it does not know.
func (k *Keys) authenticate(ctx context.Context, text string, mayTry func() error) (Principal, error) {
	if text == "" {
		return Principal{}, ErrNoCredentials
	}
	shown := hashOf(text)
	if k.isBootstrap(shown) {
		return Principal{KeyID: BootstrapID, Name: BootstrapID, Scopes: []Scope{Admin}}, nil
	}
	id, formed := idOf(text)
	key, state := k.known.get(id, shown, time.Now())
	if state == unknown {
		if err := mayTry(); err != nil {
			return Principal{}, err
		}
	}
	if !formed {
		return Principal{}, ErrBadCredentials
	}
	if state != fresh {
		var err error
		if key, err = k.look(ctx, id, shown); err != nil {
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

// isBootstrap compares with all of them, so that time tells nothing of any.
func (k *Keys) isBootstrap(shown hash) bool {
	found := false
	for _, b := range k.bootstrap {
		found = b.equal(shown.sum[:]) || found
	}
	return found
}

// look reads a key's record and remembers it if the text was right. What it reads
// counts as old as the question is, since the answer may have been on its way.
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

// used writes that a key was used, once a minute. That it cannot be written is no
// reason to refuse a caller.
func (k *Keys) used(ctx context.Context, id string) {
	now := time.Now().UTC()
	if !k.known.claimUse(id, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, usedWithin)
	defer cancel()
	_, _ = k.table.Update(ctx, id, func(s *storedKey) error {
		if now.Sub(s.Used) >= usedEvery { // else another node has written it
			s.Used = now
		}
		return nil
	})
}
