package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// auditPage answers: who changed what, when, from where, and why?
type auditPage struct {
	Tabs            []entry
	Filter          url.Values
	Fault           string
	Entries         []auditView
	Older, Download template.URL
	Filtering       bool
}

type auditView struct {
	api.AuditEntry
	Diff []difference
}

// difference is one value that a change has changed.
type difference struct{ Field, Before, After string }

func (d *Dashboard) auditPages() {
	d.page("/settings/audit", "audit", d.audit)
	d.download("/settings/audit/audit.csv", func(ctx context.Context, v *visit) (file, error) {
		f, _, err := v.auditFilter()
		if err != nil {
			return file{}, err
		}
		body, err := v.api.AuditExport(ctx, f, "csv")
		return file{Name: "audit.csv", Body: body}, err
	})
}

// auditFields are the filters of the audit log, as in the address.
var auditFields = []string{"action", "target", "actor", "tenant", "from", "to"}

// auditFilter reads the filters of the address. Times are in the viewer's zone.
func (v *visit) auditFilter() (f client.AuditFilter, kept url.Values, err error) {
	kept = url.Values{}
	for _, name := range auditFields {
		if value := strings.TrimSpace(v.URL.Query().Get(name)); value != "" {
			kept.Set(name, value)
		}
	}
	f = client.AuditFilter{Action: kept.Get("action"), Target: kept.Get("target"), Actor: kept.Get("actor"), Tenant: kept.Get("tenant")}
	at := func(name string) (t time.Time) {
		if text := kept.Get(name); text != "" && err == nil {
			t, err = time.ParseInLocation("2006-01-02T15:04", text, v.clock.Zone)
		}
		return t
	}
	f.From, f.To = at("from"), at("to")
	return f, kept, err
}

func (d *Dashboard) audit(ctx context.Context, v *visit) (content, error) {
	f, kept, err := v.auditFilter()
	page := auditPage{Tabs: v.settingsTabs("Audit log"), Filter: kept, Filtering: len(kept) > 0, Download: template.URL(kept.Encode())} //nolint:gosec // encoded
	c := content{Title: "Audit log", Nav: "Settings", Weir: []string{"weir audit"}}
	if err != nil {
		page.Fault = "Write dates and times such as 2026-12-24T09:00."
		c.Page = page
		return c, nil
	}
	ask := url.Values{"action": {f.Action}, "target": {f.Target}, "actor": {f.Actor}, "tenant": {f.Tenant}, "cursor": {v.URL.Query().Get("cursor")}}
	for name, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			ask.Set(name, at.UTC().Format(time.RFC3339))
		}
	}
	list, err := pageOf[api.AuditEntry](ctx, v, "/v1/audit", ask)
	if p := refusal(err); p != nil && p.Status == 422 {
		page.Fault, err = p.Error(), nil
	}
	if err != nil {
		return content{}, err
	}
	for _, e := range list.Data {
		page.Entries = append(page.Entries, auditView{e, differences(e.Before, e.After)})
	}
	if list.HasMore {
		older := maps.Clone(kept)
		older.Set("cursor", list.NextCursor)
		page.Older = template.URL(older.Encode()) //nolint:gosec // encoded
	}
	c.Page = page
	return c, nil
}

// differences lists what is not the same before and after, field by field.
func differences(before, after json.RawMessage) (list []difference) {
	was, is := map[string]string{}, map[string]string{}
	flatten("", before, was)
	flatten("", after, is)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if was[field] != is[field] && field != "changed_at" && field != "changed_by" {
			list = append(list, difference{field, was[field], is[field]})
		}
	}
	return list
}

// flatten collects the values of JSON by their paths.
func flatten(path string, raw json.RawMessage, into map[string]string) {
	var object map[string]json.RawMessage
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return
	}
	if json.Unmarshal(raw, &object) == nil {
		for name, value := range object {
			flatten(strings.TrimPrefix(path+"."+name, "."), value, into)
		}
		return
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = oneLine(raw)
	}
	into[path] = text
}
