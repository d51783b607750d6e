package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/stored"
)

// Apply applies the template of a request.
func (s *Templates) Apply(ctx context.Context, n stored.Spec, tenant string) (stored.Spec, *stored.MadeFrom, error) {
	e, err := s.table.Get(ctx, n.Template)
	if errors.Is(err, weir.ErrNotFound) || err == nil && !s.usableBy(&e.Value, tenant) {
		return n, nil, s.unknown(ctx, tenant, n.Template)
	}
	if err != nil {
		return n, nil, err
	}
	t := &e.Value
	if t.BulkAction.Callback, err = t.BulkAction.Callback.Open(s.vault, namedPlace(t.Name)); err != nil {
		return n, nil, err
	}
	var bad weir.InputError
	checkOverride(&bad, t, &n)
	out := overridden(t, &n)
	if out.Params, err = paramsFor(&bad, t, n.Params); err != nil {
		return n, nil, err
	}
	return out, &stored.MadeFrom{Name: t.Name, Version: e.Version}, bad.OrNil()
}

// checkOverride refuses fields in a request that its template decides: the work and its rules. How the data is read is for
// the request to say where the template does not.
func checkOverride(bad *weir.InputError, t *storedTemplate, n *stored.Spec) {
	for _, f := range []struct {
		field string
		there bool
	}{
		{"steps", len(n.Steps) > 0},
		{"duplicates", n.Duplicates != "" && t.BulkAction.Duplicates != ""},
		{"on_bad_line", n.OnBadLine != "" && t.BulkAction.OnBadLine != ""},
		{"concurrency", n.Concurrency != 0},
		{"rates", len(n.Rates) > 0},
		{"stop_on", n.StopOn != nil},
		{"canary", n.Canary != nil},
		{"callback", n.Callback != nil},
		{"keep_for", n.KeepFor != 0},
	} {
		if f.there {
			bad.Add("bad_value", f.field, fmt.Sprintf("is set by the template %q", t.Name), "leave it out, or leave the template out")
		}
	}
}

// overridden returns the bulk action of a template with the request's own fields: name, owner,
// labels, data and how it is read, urgency, start and deadline.
func overridden(t *storedTemplate, n *stored.Spec) stored.Spec {
	out := t.BulkAction
	out.Name = cmp.Or(n.Name, out.Name, t.Title, t.Name)
	out.Tenant = n.Tenant
	out.Labels, out.Columns = with(out.Labels, n.Labels), with(out.Columns, n.Columns)
	out.Duplicates, out.OnBadLine = cmp.Or(out.Duplicates, n.Duplicates), cmp.Or(out.OnBadLine, n.OnBadLine)
	out.FoldIDs = out.FoldIDs || n.FoldIDs
	if n.Source != nil || len(n.Items) > 0 { // the request's data replaces all data of the template
		out.Source = n.Source
	}
	out.Items, out.ItemID, out.AllowEmpty = slices.Clone(n.Items), cmp.Or(n.ItemID, out.ItemID), n.AllowEmpty || out.AllowEmpty
	out.Tier, out.Priority = cmp.Or(n.Tier, out.Tier), cmp.Or(n.Priority, out.Priority)
	out.Start, out.StartAt, out.Zone, out.Deadline = n.Start, n.StartAt, n.Zone, n.Deadline
	return out
}

// with returns the entries of both, of the second where both have one.
func with(all, own map[string]string) map[string]string {
	if len(own) == 0 {
		return all
	}
	out := map[string]string{}
	maps.Copy(out, all)
	maps.Copy(out, own)
	return out
}
