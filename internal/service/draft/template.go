package draft

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
)

// NewTemplate returns the stored text of a bulk action that a schedule creates again and again.
// Its secret is sealed. If the request omits the secret, that of old is kept as long as the URL is the same:
// secrets are never shown, so a client that sends back a template it read has none.
func (s *Creates) NewTemplate(ctx context.Context, req api.NewBulkAction, tenant string,
	old json.RawMessage) (json.RawMessage, error) {
	n := stored.Of(&req)
	var bad weir.InputError
	full := n // the named template is read at each slot; here only to check it
	if n.Template != "" {
		var err error
		if full, _, err = s.templates.Apply(ctx, n, tenant); err != nil {
			return nil, err
		}
	}
	checkTemplate(&bad, &full, tenant)
	if err := s.CheckNew(full, tenant); err != nil && !check.AddUnder(&bad, "", err) {
		return nil, err
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	n.Tenant = tenant
	if was, err := readTemplate(old); err == nil {
		n.KeepSecret(&was)
	}
	var err error
	if n.Callback, err = n.Callback.Seal(s.vault, templatePlace(tenant)); err != nil {
		return nil, err
	}
	return json.Marshal(n)
}

// checkTemplate refuses fields that make sense for one bulk action only.
func checkTemplate(bad *weir.InputError, n *stored.Spec, tenant string) {
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

func readTemplate(raw json.RawMessage) (n stored.Spec, err error) {
	if err := json.Unmarshal(raw, &n); err != nil {
		return n, fmt.Errorf("template: %w", err)
	}
	return n, nil
}

// ShowTemplate returns a template without its secret.
func ShowTemplate(raw json.RawMessage) (api.NewBulkAction, error) {
	n, err := readTemplate(raw)
	return n.API(), err
}

// OpenTemplate returns a template with its secret in plain text.
func (s *Creates) OpenTemplate(raw json.RawMessage, tenant string) (stored.Spec, error) {
	n, err := readTemplate(raw)
	if err == nil {
		n.Callback, err = n.Callback.Open(s.vault, templatePlace(tenant))
	}
	return n, err
}
