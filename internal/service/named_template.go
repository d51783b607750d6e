package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/records"
)

// templates returns the table of named templates. Like actions, all tenants share one set of
// names.
func (s *Service) templates() *records.Table[api.Template] {
	return records.New[api.Template](s.opts.Store, "template")
}

// namedPlace is the place that the secret of a named template is sealed for; no bulk action has
// such an id.
func namedPlace(name string) string { return "named-template/" + name }

// Templates lists the templates, by name, without secrets.
func (s *Service) Templates(ctx context.Context) (out []api.Template, err error) {
	for e, err := range s.templates().All(ctx, "") {
		if err != nil {
			return nil, err
		}
		out = append(out, shownTemplate(e))
	}
	return out, nil
}

// Template returns a template without its secret, and its version.
func (s *Service) Template(ctx context.Context, name string) (api.Template, string, error) {
	e, err := s.templates().Get(ctx, name)
	return shownTemplate(e), e.Version, err
}

func shownTemplate(e records.Entry[api.Template]) api.Template {
	t := e.Value
	t.Version = e.Version
	t.BulkAction.Callback = shownCallback(t.BulkAction.Callback)
	return t
}

// PutTemplate creates or changes a template. Bulk actions created from it stay as they are. May
// decides whether the caller may change the existing template.
func (s *Service) PutTemplate(ctx context.Context, t api.Template, match Match, may func(api.Template) error) (api.Template, string, error) {
	if err := s.checkNamed(ctx, &t); err != nil {
		return t, "", err
	}
	now := time.Now().UTC()
	e, err := putRecord(ctx, s.templates(), t.Name, match, func(*api.Template) bool { return true }, func(v *api.Template, found bool) error {
		if found {
			if err := may(*v); err != nil {
				return err
			}
		}
		next, err := s.nextTemplate(t, v, found, now)
		if err == nil {
			*v = next
		}
		return err
	})
	return shownTemplate(e), e.Version, err
}

// nextTemplate returns the template that replaces another. If nothing differs, the template and
// its version stay.
func (s *Service) nextTemplate(t api.Template, before *api.Template, found bool, now time.Time) (_ api.Template, err error) {
	t.Version, t.CreatedAt, t.ChangedAt = "", now, now
	if found {
		t.CreatedAt, t.ChangedAt = before.CreatedAt, before.ChangedAt
	}
	keepSecret(&t.BulkAction, &before.BulkAction)
	if t.BulkAction.Callback, err = s.sealCallback(namedPlace(t.Name), t.BulkAction.Callback); err != nil {
		return t, err
	}
	same, err := sameJSON(&t, before)
	if !same {
		t.ChangedAt = now
	}
	return t, err
}

// keepSecret keeps the stored secret of a callback if n omits it and the URL is the same. Secrets
// are never shown, so a client that sends back a template it read has none.
func keepSecret(n, old *api.NewBulkAction) {
	if c := n.Callback; c != nil && c.Secret == "" && old.Callback != nil && old.Callback.URL == c.URL {
		kept := *c
		kept.Secret = old.Callback.Secret
		n.Callback = &kept
	}
}

func sameJSON(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

// DeleteTemplate removes a template. Bulk actions created from it stay as they are.
func (s *Service) DeleteTemplate(ctx context.Context, name string, match Match, may func(api.Template) error) error {
	e, err := s.templates().Get(ctx, name)
	if err == nil {
		err = may(e.Value)
	}
	if err == nil {
		err = match(e.Version)
	}
	if err != nil {
		return err
	}
	return s.templates().DeleteIf(ctx, name, e.Version)
}

// checkNamed collects everything that is wrong with a template.
func (s *Service) checkNamed(ctx context.Context, t *api.Template) error {
	var bad weir.InputError
	if err := checkName("name", t.Name); err != nil {
		addFault(&bad, err, "bad_name", "name")
	}
	if t.Tenant != "" {
		if err := checkTenant("tenant", t.Tenant); err != nil {
			addFault(&bad, err, "bad_text", "tenant")
		}
	}
	checkText(&bad, "title", t.Title)
	if i := strings.IndexFunc(t.Description, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }); i >= 0 {
		bad.Add("bad_text", "description", fmt.Sprintf("has a control character at byte %d", i), "use printable characters and line ends")
	}
	checkOnce(&bad, &t.BulkAction)
	checkParams(&bad, t)
	if err := s.CheckNew(ctx, t.BulkAction, t.Tenant); err != nil && !AddUnder(&bad, "bulk_action.", err) {
		return err
	}
	return bad.OrNil()
}

// checkOnce refuses fields in a template that make sense for one bulk action only.
func checkOnce(bad *weir.InputError, n *api.NewBulkAction) {
	for _, f := range []struct {
		field string
		there bool
		whose string
	}{
		{"template", n.Template != "", "a template cannot use another template"},
		{"tenant", n.Tenant != "", "comes from the request, or from the template itself"},
		{"items", len(n.Items) > 0, "come with the request"},
		{"start", n.Start, "comes from the request"},
		{"start_at", n.StartAt != "", "comes from the request"},
		{"zone", n.Zone != "", "comes from the request"},
		{"deadline", !n.Deadline.IsZero(), "comes from the request: a fixed time in a template would pass"},
	} {
		if f.there {
			bad.Add("bad_value", "bulk_action."+f.field, f.whose, "leave it out")
		}
	}
}

// AddUnder adds the faults of err to bad, with their fields under a prefix, and reports whether it
// could.
func AddUnder(bad *weir.InputError, prefix string, err error) bool {
	var many *weir.InputError
	var one *weir.FieldError
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = &weir.InputError{Fields: []*weir.FieldError{one}}
	default:
		return false
	}
	for _, f := range many.Fields {
		bad.Add(f.Code, prefix+f.Field, f.Problem, f.Fix)
	}
	return true
}

// usableBy reports whether a tenant can create bulk actions from a template.
func usableBy(t *api.Template, tenant string) bool { return t.Tenant == "" || t.Tenant == tenant }

// unknownTemplate refuses a template that a tenant cannot use, and lists those it can.
func (s *Service) unknownTemplate(ctx context.Context, tenant, name string) error {
	var known []string
	for e, err := range s.templates().All(ctx, "") {
		if err != nil {
			return err
		}
		if usableBy(&e.Value, tenant) {
			known = append(known, e.Name)
		}
	}
	return &weir.FieldError{
		Code: "unknown_template", Field: "template", Problem: fmt.Sprintf("unknown template %.128q for tenant %.64q", name, tenant),
		Fix: knownNames(name, known, "no templates exist yet: create one first"),
	}
}
