package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
)

const webhookPath = "/v1/webhooks"

// WebhookID is the id in a path; exported for huma.
type WebhookID struct {
	ID string `path:"id" maxLength:"128" doc:"Id of the webhook" example:"whk_01k9x2v6w4s8m1c7q3d5f9h0jz"`
}

// IfMatch is the version that a change is meant for; exported for huma.
type IfMatch struct {
	IfMatch string `header:"If-Match" maxLength:"128" doc:"ETag that the webhook must still have; if it has another one, the change is refused. Default: any"`
}

// version is the entity tag without its quotes, empty for any.
func (m *IfMatch) version() string {
	v := strings.TrimPrefix(strings.TrimSpace(m.IfMatch), "W/")
	if v == "*" {
		return ""
	}
	return strings.Trim(v, `"`)
}

// webhooks serves webhooks, and the deliveries of events.
type webhooks struct {
	*Server
	of *callback.Notifier
}

func (s *Server) webhookRoutes() {
	h := webhooks{s, s.opts.Webhooks}
	tag := "webhooks"
	one := webhookPath + "/{id}"
	add(s, post(access.Control, "webhook.create", webhookPath, tag, "Create a webhook").creates().showsOnce("secret").
		about("Events are signed as defined by Standard Webhooks. Only this response contains the secret; a repeat with the "+
			"same Idempotency-Key omits it."), h.createWebhook)
	add(s, get(access.Read, "webhook.list", webhookPath, tag, "List webhooks, the oldest first"), h.listWebhooks)
	add(s, get(access.Read, "webhook.get", one, tag, "Get a webhook"), h.getWebhook)
	add(s, put(access.Control, "webhook.change", one, tag, "Change a webhook, or enable it again"), h.changeWebhook)
	add(s, del(access.Control, "webhook.delete", one, tag, "Delete a webhook; its pending deliveries are cancelled").
		about("A webhook of the configuration file is not deleted: its changes over the API are reset, and the file applies "+
			"again."), h.deleteWebhook)
	add(s, post(access.Control, "webhook.test", one+"/test", tag,
		"Send a test event to a webhook and show the result"), h.testWebhook)
	add(s, post(access.Control, "webhook.rotate", one+"/rotate", tag,
		"Rotate the secret of a webhook").showsOnce("secret").
		about("Events are signed with both secrets for a while, so that the receiver can use either."), h.rotateWebhook)
}

// myWebhook finds a webhook that the caller sees. One of all tenants is the operator's.
func (s webhooks) myWebhook(ctx context.Context, id string) (callback.Endpoint, error) {
	e, err := s.of.Endpoint(ctx, id)
	if err == nil && !seesWebhook(ctx, &e) {
		return callback.Endpoint{}, weir.ErrNotFound
	}
	if err == nil {
		changed(ctx, id, e.Tenant)
	}
	return e, err
}

func seesWebhook(ctx context.Context, e *callback.Endpoint) bool { return sees(ctx, e.Tenant) }

// sees reports whether the caller sees what belongs to a tenant, or to none.
func sees(ctx context.Context, tenant string) bool {
	who := caller(ctx)
	if tenant == "" {
		return who.SeesAll()
	}
	return who.Sees(tenant)
}

func viewWebhook(e *callback.Endpoint) api.Webhook {
	out := api.Webhook{
		ID: e.ID, Tenant: e.Tenant, URL: e.URL, Events: e.Types, Note: e.Note, PublicKey: e.PublicKey, Disabled: !e.Enabled,
		Reason: e.Reason, Created: e.Created,
		Provenance: api.Provenance{Origin: "api", ChangedAt: e.Set.At, ChangedBy: e.Set.By},
	}
	if f := e.File; f != nil {
		said := api.Webhook{Tenant: f.Tenant, URL: f.URL, Events: f.Types,
			Provenance: api.Provenance{Origin: "file", ChangedAt: f.Set.At, ChangedBy: f.Set.By}}
		if e.Set.At.IsZero() {
			out.Provenance = said.Provenance
		} else {
			out.File = &said
		}
	}
	return out
}

// webhookTag is the entity tag of a webhook as it is.
func webhookTag(e *callback.Endpoint) string {
	raw, _ := json.Marshal(e) // texts and times alone
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:12])
}

func taggedWebhook(e *callback.Endpoint, err error) (*tagged[api.Webhook], error) {
	if err != nil {
		return nil, renamed(err, "types", "events")
	}
	return &tagged[api.Webhook]{`"` + webhookTag(e) + `"`, viewWebhook(e)}, nil
}

func (s webhooks) createWebhook(ctx context.Context, in *request[api.Webhook]) (*made[api.Webhook], error) {
	n, tenant := in.Body, in.Body.Tenant
	if tenant != "" || !caller(ctx).SeesAll() {
		var err error
		if tenant, err = tenantFor(ctx, "tenant", tenant); err != nil {
			return nil, err
		}
	}
	id, err := s.reserve(ctx, func() (string, error) { return callback.NewEndpointID(), nil })
	if err != nil {
		return nil, err
	}
	e, secret, err := s.of.Register(ctx, callback.Endpoint{ID: id, Tenant: tenant, URL: n.URL, Types: n.Events,
		Note: n.Note, Set: stamp(ctx)}, n.Secret)
	if err == nil && n.Disabled {
		e, err = s.of.Change(ctx, e.ID, func(e *callback.Endpoint) error { e.Enabled = false; return nil })
	}
	if err != nil {
		return nil, renamed(err, "types", "events")
	}
	changed(ctx, e.ID, tenant)
	view := viewWebhook(&e)
	visitOf(ctx).after = view
	if n.Secret == "" {
		view.Secret = secret // who brings one has it
	}
	return &made[api.Webhook]{s.at(webhookPath + "/" + e.ID), view}, nil
}

func (s webhooks) listWebhooks(ctx context.Context, in *Paging) (*body[api.Page[api.Webhook]], error) {
	return answer(pageOf(in, lister[callback.Endpoint, api.Webhook]{
		name: "webhooks",
		read: func(after string, limit int) (page []callback.Endpoint, next string, err error) {
			page, err = s.of.ListEndpoints(ctx, after, limit)
			if len(page) == limit {
				next = page[limit-1].ID
			}
			return page, next, err
		},
		id: func(e *callback.Endpoint) string { return e.ID }, view: sure(viewWebhook),
		sees: func(e *callback.Endpoint) bool { return seesWebhook(ctx, e) },
	}))
}

func (s webhooks) getWebhook(ctx context.Context, in *WebhookID) (*tagged[api.Webhook], error) {
	e, err := s.myWebhook(ctx, in.ID)
	return taggedWebhook(&e, err)
}

type changeWebhookInput struct {
	WebhookID
	IfMatch
	Body api.Webhook
}

func (s webhooks) changeWebhook(ctx context.Context, in *changeWebhookInput) (*tagged[api.Webhook], error) {
	before, err := s.myWebhook(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	n := in.Body
	var bad weir.InputError
	if n.Secret != "" {
		bad.Add("bad_value", "secret", "cannot be changed here", "use rotate, which leaves the receiver time to learn of it")
	}
	if n.Tenant != "" && n.Tenant != before.Tenant {
		bad.Add("bad_value", "tenant", "cannot be changed", "create another webhook")
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	version := in.version()
	after, err := s.of.Change(ctx, in.ID, func(e *callback.Endpoint) error {
		if version != "" && version != webhookTag(e) {
			return records.ErrChanged
		}
		e.URL, e.Types, e.Note, e.Enabled, e.Set = n.URL, n.Events, n.Note, !n.Disabled, stamp(ctx)
		return nil
	})
	visitOf(ctx).before, visitOf(ctx).after = viewWebhook(&before), viewWebhook(&after)
	return taggedWebhook(&after, err)
}

type nothing struct{}

type deleteWebhookInput struct {
	WebhookID
	IfMatch
}

func (s webhooks) deleteWebhook(ctx context.Context, in *deleteWebhookInput) (*nothing, error) {
	e, err := s.myWebhook(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if v := in.version(); v != "" && v != webhookTag(&e) {
		return nil, records.ErrChanged
	}
	visitOf(ctx).before = viewWebhook(&e)
	switch {
	case e.File == nil:
		err = s.of.Remove(ctx, in.ID)
	case e.Set.At.IsZero():
		err = &check.Refusal{Code: "in_use", Detail: "the webhook comes from the configuration file",
			Fix: "disable it, or remove it from the file and restart a node"}
	default:
		err = s.of.Reset(ctx, in.ID)
	}
	return &nothing{}, err
}

// stamp records that the caller changes something now.
func stamp(ctx context.Context) weir.Stamp {
	return weir.Stamp{By: caller(ctx).KeyID, At: time.Now().UTC()}
}

type testWebhookInput struct {
	WebhookID
	Body *api.Verb
}

func (s webhooks) testWebhook(ctx context.Context, in *testWebhookInput) (*body[api.Delivery], error) {
	e, err := s.myWebhook(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	d, err := s.of.Test(ctx, in.ID)
	return answer(viewDelivery(&d, e.URL), err)
}

type rotateInput struct {
	WebhookID
	Body *api.Rotate
}

// keepSecret is how long events are also signed with a replaced secret.
const keepSecret, mostKeepSecret = 24 * time.Hour, 30 * 24 * time.Hour

func (s webhooks) rotateWebhook(ctx context.Context, in *rotateInput) (*body[api.Webhook], error) {
	if _, err := s.myWebhook(ctx, in.ID); err != nil {
		return nil, err
	}
	want := orZero(in.Body)
	keep := keepSecret
	if want.Keep != nil {
		keep = time.Duration(*want.Keep)
	}
	if keep < 0 || keep > mostKeepSecret {
		return nil, &weir.FieldError{Code: "out_of_range", Field: "keep", Problem: want.Keep.String() +
			" is not between 0 and " + mostKeepSecret.String(), Fix: "leave it out for " + keepSecret.String()}
	}
	e, secret, err := s.of.Rotate(ctx, in.ID, want.Secret, keep, caller(ctx).KeyID)
	if err != nil {
		return nil, err
	}
	view := viewWebhook(&e)
	if want.Secret == "" {
		view.Secret = secret
	}
	return answer(view, nil)
}
