package callback

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/records"
)

// Endpoints holds the registered receivers of events. Its methods may be called from several
// goroutines.
type Endpoints struct {
	table    *records.Table[endpointRecord]
	secrets  sealing
	checkURL func(field, raw string) (*url.URL, error)
	log      *slog.Logger
	cache    cache
}

// cacheFor is how long a node may miss an endpoint that another node registered.
const cacheFor = time.Second

// Register stores a new endpoint, enabled. It signs with the given secret or generates one; the
// secret can be read only then.
func (s *Endpoints) Register(ctx context.Context, e Endpoint, secretText string) (kept Endpoint, secretOut string, err error) {
	if err := e.check(s.checkURL); err != nil {
		return Endpoint{}, "", err
	}
	if secretText == "" {
		secretText = NewSecret()
	}
	if err := checkSecret(secretText); err != nil {
		return Endpoint{}, "", err
	}
	if e.Created = wall(); e.ID == "" {
		e.ID = NewEndpointID()
	}
	e.enable()
	r := endpointRecord{Endpoint: e}
	if err := s.sign(&r, secrets{{Text: secretText}}); err != nil {
		return Endpoint{}, "", err
	}
	_, err = s.table.Put(ctx, e.ID, func(held *endpointRecord, _ bool) error {
		*held = r // no client knows the existing one: its response was lost, and the secret with it
		return nil
	})
	if err != nil {
		return Endpoint{}, "", err
	}
	s.cache.forget()
	return r.Endpoint, secretText, nil
}

// NewEndpointID returns an id, for a caller that must know it before Register.
func NewEndpointID() string { return "whk_" + strings.ToLower(ulid.Make().String()) }

// sign seals the secrets of an endpoint into it.
func (s *Endpoints) sign(r *endpointRecord, all secrets) (err error) {
	r.PublicKey = ""
	if key, err := execute.PublicKey(all[0].Text); err == nil {
		r.PublicKey = key
	}
	r.Sealed, err = s.secrets.seal(placeOfEndpoint(r.ID), all)
	return err
}

// Change changes an endpoint's address, its event types, or whether it is enabled.
func (s *Endpoints) Change(ctx context.Context, id string, change func(*Endpoint) error) (Endpoint, error) {
	e, err := s.table.Update(ctx, id, func(r *endpointRecord) error {
		before := r.Endpoint
		before.Types = slices.Clone(before.Types)
		if err := change(&r.Endpoint); err != nil {
			return err
		}
		r.ID, r.Created, r.PublicKey, r.File = before.ID, before.Created, before.PublicKey, before.File
		if r.Enabled && !before.Enabled {
			r.enable()
		}
		if !r.Enabled && before.Enabled {
			r.Enabled = true
			r.disable(r.Reason, wall())
		}
		return r.check(s.checkURL)
	})
	s.cache.forget()
	return e.Value.Endpoint, err
}

// Rotate gives an endpoint a new secret, generated if none is given, and returns it. The previous
// one also signs for keep. By is the caller.
func (s *Endpoints) Rotate(ctx context.Context, id, secretText string, keep time.Duration, by string) (Endpoint, string, error) {
	if secretText == "" {
		secretText = NewSecret()
	}
	if err := checkSecret(secretText); err != nil {
		return Endpoint{}, "", err
	}
	e, err := s.table.Update(ctx, id, func(r *endpointRecord) error {
		old, err := s.secrets.open(placeOfEndpoint(r.ID), r.Sealed)
		if err != nil {
			return err
		}
		r.Set = weir.Stamp{By: by, At: wall()}
		return s.sign(r, old.rotate(secretText, wall(), keep))
	})
	if err != nil {
		return Endpoint{}, "", err
	}
	return e.Value.Endpoint, secretText, nil
}

// Endpoint returns a registered endpoint, or [weir.ErrNotFound].
func (s *Endpoints) Endpoint(ctx context.Context, id string) (Endpoint, error) {
	e, err := s.table.Get(ctx, id)
	return e.Value.Endpoint, err
}

// ListEndpoints lists registered endpoints after an id, the oldest first, at most limit.
func (s *Endpoints) ListEndpoints(ctx context.Context, after string, limit int) ([]Endpoint, error) {
	page, err := s.table.List(ctx, "", after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Endpoint, len(page))
	for i, e := range page {
		out[i] = e.Value.Endpoint
	}
	return out, nil
}

// gone disables an endpoint that answered 410 Gone. An endpoint that was removed is not an error.
func (s *Endpoints) gone(ctx context.Context, id string) error {
	_, err := s.table.Update(ctx, id, func(r *endpointRecord) error {
		r.disable("it answered 410 Gone", wall())
		return nil
	})
	s.cache.forget()
	if err := records.IgnoreGone(err); err != nil {
		return fmt.Errorf("disable %s: %w", id, err)
	}
	return nil
}

// registered lists all endpoints.
func (s *Endpoints) registered(ctx context.Context) ([]Endpoint, error) {
	endpoints, fresh, turn := s.cache.held(time.Now())
	if fresh {
		return endpoints, nil
	}
	endpoints = nil
	for e, err := range s.table.All(ctx, "") {
		if err != nil && e.Name == "" {
			return nil, err
		}
		if err != nil { // one damaged endpoint must not affect the others
			s.log.LogAttrs(ctx, slog.LevelError, "cannot read an endpoint", slog.Any("error", err))
			continue
		}
		endpoints = append(endpoints, e.Value.Endpoint)
	}
	s.cache.keep(endpoints, time.Now().Add(cacheFor), turn)
	return endpoints, nil
}
