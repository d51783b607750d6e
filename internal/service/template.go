package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/execute"
)

// CheckNew collects everything that is wrong with a bulk action that a schedule or a template
// creates for a tenant again and again.
func (s *Service) CheckNew(_ context.Context, n api.NewBulkAction, tenant string) error {
	var bad weir.InputError
	if n.Source != nil && n.Source.Upload != "" {
		bad.Add("bad_value", "source.upload", "can be read only once: its data is removed afterwards", "name the upload in each request, or use a source that can be read again")
		n.Source = nil
	}
	now := time.Now().UTC()
	if err := s.checkDraft(&draft{Spec: n, Tenant: tenant, Created: now}, "", now); err != nil && !AddUnder(&bad, "", err) {
		return err
	}
	return bad.OrNil()
}

// NewTemplate returns the stored text of a bulk action that a schedule creates again and again.
// Its secret is sealed. If n omits the secret, that of old is kept as long as the URL is the same:
// secrets are never shown, so a client that sends back a template it read has none.
func (s *Service) NewTemplate(ctx context.Context, n api.NewBulkAction, tenant string, old json.RawMessage) (json.RawMessage, error) {
	var bad weir.InputError
	full := n // the named template is read at each slot; here only to check it
	if n.Template != "" {
		var err error
		if full, _, err = s.fromTemplate(ctx, n, tenant); err != nil {
			return nil, err
		}
	}
	checkTemplate(&bad, &full, tenant)
	if err := s.CheckNew(ctx, full, tenant); err != nil && !AddUnder(&bad, "", err) {
		return nil, err
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	n.Tenant = tenant
	if was, err := readTemplate(old); err == nil {
		keepSecret(&n, &was)
	}
	var err error
	if n.Callback, err = s.sealCallback(templatePlace(tenant), n.Callback); err != nil {
		return nil, err
	}
	return json.Marshal(n)
}

// checkTemplate refuses fields that make sense for one bulk action only.
func checkTemplate(bad *weir.InputError, n *api.NewBulkAction, tenant string) {
	if n.Tenant != "" && n.Tenant != tenant {
		bad.Add("bad_value", "tenant", "differs from the tenant of the schedule", "leave it out")
	}
	if n.StartAt != "" {
		bad.Add("bad_value", "start_at", "comes from the schedule", "leave it out")
	}
	if !n.Deadline.IsZero() {
		bad.Add("bad_value", "deadline", "is a fixed time, and will have passed at the next slot", "leave it out")
	}
	if n.Source == nil && len(n.Items) == 0 {
		bad.Add("no_items", "source", "is missing, and so are items", "name the source to read the items from")
	}
}

// templatePlace is the place that the secret of a template is sealed for; no bulk action has such
// an id.
func templatePlace(tenant string) string { return "template/" + tenant }

func readTemplate(raw json.RawMessage) (n api.NewBulkAction, err error) {
	if err := json.Unmarshal(raw, &n); err != nil {
		return n, fmt.Errorf("template: %w", err)
	}
	return n, nil
}

// ShowTemplate returns a template without its secret.
func ShowTemplate(raw json.RawMessage) (api.NewBulkAction, error) {
	n, err := readTemplate(raw)
	n.Callback = shownCallback(n.Callback)
	return n, err
}

// OpenTemplate returns a template as a request, with its secret in plain text.
func (s *Service) OpenTemplate(raw json.RawMessage, tenant string) (api.NewBulkAction, error) {
	n, err := readTemplate(raw)
	if err == nil {
		n.Callback, err = s.openCallback(templatePlace(tenant), n.Callback)
	}
	return n, err
}

// callbackEvents lists the events of a one-off callback, with or without the prefix
// "bulk_action.".
var callbackEvents = []string{"completed", "cancelled", "stopped", "failed", "canary_ready", "late"}

// shownCallback returns a callback as responses show it: without its secret.
func shownCallback(c *api.Callback) *api.Callback {
	if c == nil {
		return nil
	}
	shown := *c
	shown.Secret = ""
	return &shown
}

// checkCallback checks the one-off callback of a bulk action.
func (s *Service) checkCallback(bad *weir.InputError, c *api.Callback) {
	if _, err := s.opts.Guard.CheckURL("callback.url", c.URL); err != nil {
		addFault(bad, err, "bad_url", "callback.url")
	}
	if c.Secret != "" {
		if _, err := execute.NewSigner(c.Secret); err != nil {
			bad.Add("bad_secret", "callback.secret", "is not a valid signing secret", "write whsec_ and the base64 of 24 to 64 random bytes")
		}
	}
	for i, e := range c.Events {
		if !slices.Contains(callbackEvents, strings.TrimPrefix(e, "bulk_action.")) {
			bad.Add("out_of_range", fmt.Sprintf("callback.events[%d]", i), fmt.Sprintf("%.40q is not an event", e), "use "+strings.Join(callbackEvents, ", "))
		}
	}
}
