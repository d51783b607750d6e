package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/plain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
)

// Templates is the registry of templates. Like actions, all tenants share one set of names.
type Templates struct {
	vault   *vault.Vault
	actions *Actions
	table   *records.Table[storedTemplate]
}

// NewTemplates returns the registry of templates.
func NewTemplates(s records.Keeper, v *vault.Vault, a *Actions) *Templates {
	return &Templates{v, a, records.New[storedTemplate](s, "template")}
}

// namedPlace is the place that the secret of a named template is sealed for; no bulk action has
// such an id.
func namedPlace(name string) string { return "named-template/" + name }

// All lists the templates, by name, without secrets.
func (s *Templates) All(ctx context.Context) (out []api.Template, err error) {
	for e, err := range s.table.All(ctx, "") {
		if err != nil {
			return nil, err
		}
		out = append(out, shownTemplate(e))
	}
	return out, nil
}

// Get returns a template without its secret, and its version.
func (s *Templates) Get(ctx context.Context, name string) (api.Template, string, error) {
	e, err := s.table.Get(ctx, name)
	return shownTemplate(e), e.Version, err
}

func shownTemplate(e records.Entry[storedTemplate]) api.Template {
	t := e.Value.api()
	t.Version = e.Version
	return t
}

// Checker checks a bulk action that a template creates again and again.
type Checker interface {
	CheckNew(n stored.Spec, tenant string) error
}

// Put creates or changes a template that by accepts. Bulk actions created from it stay as they are. May
// decides whether the caller may change the existing template.
func (s *Templates) Put(ctx context.Context, in api.Template, by Checker, match records.Match,
	may func(api.Template) error) (api.Template, string, error) {
	t := templateRecord(&in)
	if err := s.check(&t, by); err != nil {
		return in, "", err
	}
	now := time.Now().UTC()
	e, err := s.table.PutIf(ctx, t.Name, match, nil, func(v *storedTemplate, found bool) error {
		if found {
			if err := may(v.api()); err != nil {
				return err
			}
		}
		next, err := s.next(t, v, found, now)
		if err == nil {
			*v = next
		}
		return err
	})
	return shownTemplate(e), e.Version, err
}

// next returns the template that replaces another. If nothing differs, the template and
// its version stay.
func (s *Templates) next(t storedTemplate, before *storedTemplate, found bool, now time.Time) (_ storedTemplate, err error) {
	t.CreatedAt, t.ChangedAt = now, now
	if found {
		t.CreatedAt, t.ChangedAt = before.CreatedAt, before.ChangedAt
	}
	t.BulkAction.KeepSecret(&before.BulkAction)
	if t.BulkAction.Callback, err = t.BulkAction.Callback.Seal(s.vault, namedPlace(t.Name)); err != nil {
		return t, err
	}
	same, err := sameJSON(&t, before)
	if !same {
		t.ChangedAt = now
	}
	return t, err
}

func sameJSON(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

// Delete removes a template. Bulk actions created from it stay as they are.
func (s *Templates) Delete(ctx context.Context, name string, match records.Match, may func(api.Template) error) error {
	return s.table.DeleteMatch(ctx, name, match, func(v *storedTemplate) error { return may(v.api()) })
}

// check collects everything that is wrong with a template.
func (s *Templates) check(t *storedTemplate, by Checker) error {
	var bad weir.InputError
	if err := check.Name("name", t.Name); err != nil {
		check.Add(&bad, err, "bad_name", "name")
	}
	if t.Tenant != "" {
		if err := check.Tenant("tenant", t.Tenant); err != nil {
			check.Add(&bad, err, "bad_text", "tenant")
		}
	}
	check.Text(&bad, "title", t.Title)
	if i := strings.IndexFunc(t.Description, func(r rune) bool { return plain.Control(r) && r != '\n' && r != '\t' }); i >= 0 {
		bad.Add("bad_text", "description", fmt.Sprintf("has a control character at byte %d", i), "use printable characters and line ends")
	}
	checkOnce(&bad, &t.BulkAction)
	checkParams(&bad, t)
	if err := by.CheckNew(t.BulkAction, t.Tenant); err != nil && !check.AddUnder(&bad, "bulk_action.", err) {
		return err
	}
	return bad.OrNil()
}

// checkOnce refuses fields in a template that make sense for one bulk action only.
func checkOnce(bad *weir.InputError, n *stored.Spec) {
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

// UsableBy reports whether one of some tenants can create bulk actions from a template.
func (s *Templates) UsableBy(t *api.Template, tenants []string) bool {
	record := templateRecord(t)
	return slices.ContainsFunc(tenants, func(tenant string) bool { return s.usableBy(&record, tenant) })
}

// usableBy reports whether a tenant can create bulk actions from a template. One that is shared by all tenants is not for
// those who may not use one of its actions: they must not learn of the action. The owner of a template is told of it.
func (s *Templates) usableBy(t *storedTemplate, tenant string) bool {
	if t.Tenant != "" {
		return t.Tenant == tenant
	}
	return !slices.ContainsFunc(t.BulkAction.Steps, func(st stored.Step) bool {
		a, err := s.actions.Find(st.Action)
		return err == nil && !a.Deleted && !a.MayUse(tenant)
	})
}

// unknown refuses a template that a tenant cannot use, and lists those it can.
func (s *Templates) unknown(ctx context.Context, tenant, name string) error {
	var known []string
	for e, err := range s.table.All(ctx, "") {
		if err != nil {
			return err
		}
		if s.usableBy(&e.Value, tenant) {
			known = append(known, e.Name)
		}
	}
	return &weir.FieldError{
		Code: "unknown_template", Field: "template", Problem: fmt.Sprintf("unknown template %.128q for tenant %.64q", name, tenant),
		Fix: check.Known(name, known, "no templates exist yet: create one first"),
	}
}
