package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"

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
		f, _, fault := v.auditFilter()
		if fault != "" {
			return file{}, errors.New(fault)
		}
		body, err := v.api.AuditExport(ctx, f, "csv")
		return file{Name: "audit.csv", Body: body}, err
	})
}

// auditFilter reads the filters of the address, and says what is wrong with their times.
func (v *visit) auditFilter() (f client.AuditFilter, kept url.Values, fault string) {
	kept = v.kept("action", "target", "actor", "tenant", "from", "to")
	f = client.AuditFilter{Action: kept.Get("action"), Target: kept.Get("target"), Actor: kept.Get("actor"), Tenant: kept.Get("tenant")}
	f.From, f.To, fault = v.between(kept)
	return f, kept, fault
}

func (d *Dashboard) audit(ctx context.Context, v *visit) (content, error) {
	f, kept, fault := v.auditFilter()
	page := auditPage{Tabs: v.settingsTabs("Audit log"), Filter: kept, Fault: fault, Filtering: len(kept) > 0, Download: template.URL(kept.Encode())} //nolint:gosec // encoded
	c := content{Title: "Audit log", Nav: "Settings", Weir: []string{"weir audit"}}
	if fault != "" {
		c.Page = page
		return c, nil
	}
	list, err := pageOf[api.AuditEntry](ctx, v, "/v1/audit", url.Values{"action": {f.Action}, "target": {f.Target}, "actor": {f.Actor},
		"tenant": {f.Tenant}, "from": {inQuery(f.From)}, "to": {inQuery(f.To)}, "cursor": {v.URL.Query().Get("cursor")}})
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
