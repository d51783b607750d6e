package server

import (
	"context"
	"errors"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

const keyPath = "/v1/keys"

// KeyID is the id in a path; exported for huma.
type KeyID struct {
	ID string `path:"id" maxLength:"128" doc:"Id of the key" example:"key_01k9x2v6w4s8m1c7q3d5f9h0jz"`
}

// keys serves API keys.
type keys struct {
	*Server
	of *access.Keys
}

func (s *Server) keyRoutes() {
	h := keys{s, s.opts.Keys}
	tag := "access"
	add(s, post(access.Admin, "key.create", keyPath, tag, "Create an API key").where(s.keysInUse).creates().showsOnce("key").
		about("Only this response contains the text of the key: it cannot be read again, and a repeat with the same "+
			"Idempotency-Key omits it."), h.createKey)
	add(s, get(access.Admin, "key.list", keyPath, tag, "List API keys, the oldest first").where(s.keysInUse), h.listKeys)
	add(s, get(access.Admin, "key.get", keyPath+"/{id}", tag, "Get an API key, without its text").where(s.keysInUse), h.getKey)
	add(s, del(access.Admin, "key.revoke", keyPath+"/{id}", tag, "Revoke an API key").where(s.keysInUse).withBody().
		about("All servers refuse the key within a second. It cannot be restored. Its record stays."), h.revokeKey)
	who := get("", "whoami", "/v1/whoami", tag, "Show the current API key: its scopes and tenants").
		about("Any valid key may ask.")
	who.known = true
	add(s, who, h.whoami)
}

func (s keys) createKey(ctx context.Context, in *request[api.Key]) (*made[api.Key], error) {
	n, who := in.Body, caller(ctx)
	spec := access.NewKey{Name: n.Name, Tenants: n.Tenants, Expires: n.ExpiresAt}
	if len(spec.Tenants) == 0 {
		spec.Tenants = who.Tenants
	}
	for _, scope := range n.Scopes {
		spec.Scopes = append(spec.Scopes, access.Scope(scope))
	}
	var err error
	if spec.ID, err = s.reserve(ctx, func() (string, error) { return access.NewID(), nil }); err != nil {
		return nil, err
	}
	k, text, err := s.of.Create(ctx, who, spec)
	if err != nil {
		return nil, renamed(err, "expires", "expires_at")
	}
	view := viewKey(&k)
	keyChanged(ctx, &k)
	visitOf(ctx).after = view
	view.Key = text.Reveal()
	return &made[api.Key]{s.at(keyPath + "/" + k.ID), view}, nil
}

// keyChanged notes a key for the audit. One of several tenants is of none that could be named.
func keyChanged(ctx context.Context, k *access.Key) {
	tenant := ""
	if len(k.Tenants) == 1 {
		tenant = k.Tenants[0]
	}
	changed(ctx, k.ID, tenant)
}

// renamed is an error of input whose field has another name in the API.
func renamed(err error, old, now string) error {
	var in *weir.InputError
	if errors.As(err, &in) {
		for _, f := range in.Fields {
			f.Field = strings.Replace(f.Field, old, now, 1)
		}
	}
	return err
}

func viewKey(k *access.Key) api.Key {
	out := api.Key{
		ID: k.ID, Name: k.Name, Tenants: k.Tenants, ExpiresAt: k.Expires, LastUsed: k.Used, CreatedAt: k.Created,
		CreatedBy: k.By, RevokedAt: k.Revoked,
	}
	for _, scope := range k.Scopes {
		out.Scopes = append(out.Scopes, string(scope))
	}
	return out
}

func (s keys) listKeys(ctx context.Context, in *Paging) (*body[api.Page[api.Key]], error) {
	who := caller(ctx)
	return answer(pageOf(in, lister[access.Key, api.Key]{
		name: "keys",
		read: func(after string, limit int) (page []access.Key, next string, err error) {
			return s.of.List(ctx, who, after, limit)
		},
		id: func(k *access.Key) string { return k.ID }, view: sure(viewKey),
	}))
}

func (s keys) getKey(ctx context.Context, in *KeyID) (*body[api.Key], error) {
	k, err := s.of.Get(ctx, caller(ctx), in.ID)
	return answer(viewKey(&k), err)
}

func (s keys) revokeKey(ctx context.Context, in *KeyID) (*body[api.Key], error) {
	before, err := s.of.Get(ctx, caller(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	k, err := s.of.Revoke(ctx, caller(ctx), in.ID)
	keyChanged(ctx, &k)
	visitOf(ctx).before, visitOf(ctx).after = viewKey(&before), viewKey(&k)
	return answer(viewKey(&k), err)
}

func (s keys) whoami(ctx context.Context, _ *struct{}) (*body[api.Whoami], error) {
	who := caller(ctx)
	return answer(viewCaller(&who), nil)
}

func viewCaller(who *access.Principal) api.Whoami {
	out := api.Whoami{Key: who.KeyID, Name: who.Name, Scopes: []string{}, Tenants: who.Tenants}
	for _, scope := range who.Scopes {
		out.Scopes = append(out.Scopes, string(scope))
	}
	return out
}
