package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

const keyPath = "/v1/keys"

// KeyID is the id in a path; exported for huma.
type KeyID struct {
	ID string `path:"id" maxLength:"128" doc:"Id of the key" example:"key_01k9x2v6w4s8m1c7q3d5f9h0jz"`
}

func (s *Server) keyRoutes() {
	tag := []string{"access"}
	add(s, endpoint{huma.Operation{
		OperationID: "key.create", Method: http.MethodPost, Path: keyPath, Summary: "Create an API key", Tags: tag,
		DefaultStatus: http.StatusCreated,
		Description:   "Only this response contains the text of the key: it cannot be read again, and a repeat with the same Idempotency-Key omits it.",
	}, route{scope: access.Admin, change: true, keyed: true, once: "key"}}, s.createKey)
	add(s, endpoint{huma.Operation{
		OperationID: "key.list", Method: http.MethodGet, Path: keyPath, Summary: "List API keys, the oldest first", Tags: tag,
	}, route{scope: access.Admin}}, s.listKeys)
	add(s, endpoint{huma.Operation{
		OperationID: "key.get", Method: http.MethodGet, Path: keyPath + "/{id}", Summary: "Get an API key, without its text", Tags: tag,
	}, route{scope: access.Admin}}, s.getKey)
	add(s, endpoint{huma.Operation{
		OperationID: "key.revoke", Method: http.MethodDelete, Path: keyPath + "/{id}", Summary: "Revoke an API key", Tags: tag,
		Description: "All servers refuse the key within a second. It cannot be restored. Its record stays.",
	}, route{scope: access.Admin, change: true}}, s.revokeKey)
	add(s, endpoint{huma.Operation{
		OperationID: "whoami", Method: http.MethodGet, Path: "/v1/whoami", Summary: "Show the current API key: its scopes and tenants", Tags: tag,
	}, route{known: true}}, s.whoami)
}

type newKeyInput struct {
	Body api.Key
}

func (s *Server) createKey(ctx context.Context, in *newKeyInput) (*made[api.Key], error) {
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
	k, text, err := s.opts.Keys.Create(ctx, who, spec)
	if err != nil {
		return nil, renamed(err, "expires", "expires_at")
	}
	view := viewKey(&k)
	keyChanged(ctx, &k)
	visitOf(ctx).after = view
	view.Key = text.Reveal()
	return &made[api.Key]{keyPath + "/" + k.ID, view}, nil
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

func (s *Server) listKeys(ctx context.Context, in *Paging) (*body[api.Page[api.Key]], error) {
	who := caller(ctx)
	return answer(pageOf(in, lister[access.Key, api.Key]{
		name: "keys",
		read: func(after string, limit int) (page []access.Key, next string, err error) {
			return s.opts.Keys.List(ctx, who, after, limit)
		},
		id: func(k *access.Key) string { return k.ID }, view: viewKey,
	}))
}

func (s *Server) getKey(ctx context.Context, in *KeyID) (*body[api.Key], error) {
	k, err := s.opts.Keys.Get(ctx, caller(ctx), in.ID)
	return answer(viewKey(&k), err)
}

func (s *Server) revokeKey(ctx context.Context, in *KeyID) (*body[api.Key], error) {
	before, err := s.opts.Keys.Get(ctx, caller(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	k, err := s.opts.Keys.Revoke(ctx, caller(ctx), in.ID)
	keyChanged(ctx, &k)
	visitOf(ctx).before, visitOf(ctx).after = viewKey(&before), viewKey(&k)
	return answer(viewKey(&k), err)
}

func (s *Server) whoami(ctx context.Context, _ *struct{}) (*body[api.Whoami], error) {
	who := caller(ctx)
	out := api.Whoami{Key: who.KeyID, Name: who.Name, Scopes: []string{}, Tenants: who.Tenants}
	for _, scope := range who.Scopes {
		out.Scopes = append(out.Scopes, string(scope))
	}
	return answer(out, nil)
}
