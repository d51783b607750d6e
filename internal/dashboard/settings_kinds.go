package dashboard

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

func (d *Dashboard) settingsPages() {
	d.page("/settings", "settings", actionKind.list)
	register(d, &actionKind)
	register(d, &connectionKind)
	register(d, &templateKind)
	register(d, &tenantKind)
	d.sheet("/settings/new/template", d.newTemplate, d.createTemplate)
	d.sheet("/settings/actions/{name}/test", d.askTestAction, d.testAction)
	d.form("/settings/connections/{name}/test", d.testConnection)
	d.keyPages()
	d.webhookPages()
	d.auditPages()
}

// hidden stands for a secret that the server keeps. Sent back, it stays.
const hidden = "[secret]"

// lines writes pairs as lines such as Name: value, by name.
func lines(pairs map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		b.WriteString(name + ": " + pairs[name] + "\n")
	}
	return b.String()
}

// orNothing writes a number, 0 as nothing.
func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func span(d api.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// tenantsOf writes who may use something.
func tenantsOf(list []string) string { return cmp.Or(strings.Join(list, ", "), "All") }

// secretInput is a secret that can be written and not read.
func secretInput(label, stored, hint string) *input {
	i := &input{Name: "secret", Label: label, Kind: "password", Hint: hint}
	if stored != "" {
		i.Hint = "One is set, and is never shown. Leave this empty to keep it."
	}
	return i
}

var actionKind = kind[api.Action]{
	tab: "Actions", path: "actions", noun: "action", scope: "admin", weir: "weir actions list",
	text:  "What can be done to items: endpoints that weir calls with batches of them.",
	empty: "An action is an endpoint of yours that receives batches of items by POST. Create the first one, and test it with a sample item.",
	heads: []head{{Name: "Name"}, {Name: "State"}, {Name: "Endpoint", P2: true}, {Name: "Batch", P2: true, Num: true}, {Name: "Resource", P2: true}, {Name: "Tenants", P2: true}, {Name: "From", P2: true}},
	of:    (*client.Client).Actions,
	name:  func(a *api.Action) string { return a.Name }, title: func(a *api.Action) string { return a.Name },
	origin: func(a *api.Action) (api.Provenance, bool) { return a.Provenance, a.File != nil },
	row: func(_ *visit, a *api.Action) []cell {
		state := sign{"done", "On", "done"}
		if a.Disabled {
			state = sign{"paused", "Disabled", "paused"}
		}
		batch := "–"
		if a.Batch > 0 {
			batch = format.Count(int64(a.Batch))
		}
		return []cell{{Text: a.Name, Link: "/settings/actions/" + escape(a.Name) + "/edit"}, {Sign: &state}, {Text: cmp.Or(a.URL, "in the program"), Code: a.URL != "", P2: true},
			{Text: batch, Num: true, P2: true}, {Text: cmp.Or(a.Resource, a.Name), P2: true}, {Text: tenantsOf(a.Tenants), P2: true}, originCell(a.Provenance, a.File != nil)}
	},
	owners: func(a *api.Action) []string { return a.Tenants },
	verbs: func(a *api.Action) []act {
		return []act{{Name: "Test", Of: a.Name, Path: "/settings/actions/" + escape(a.Name) + "/test", Scope: "submit"}}
	},
	inputs: func(_ *visit, a *api.Action) []*input {
		var retry api.Retry
		if a.Retry != nil {
			retry = *a.Retry
		}
		return []*input{
			{Name: "url", Label: "URL", Kind: "url", Value: a.URL, Needed: true, Place: "https://push.example.com/batch", Hint: "Receives a POST for each batch of items."},
			{Name: "undo_url", Label: "URL to undo, optional", Kind: "url", Value: a.UndoURL, Hint: "Receives the items to undo, with what the action answered."},
			{Name: "header", Label: "Headers, one a line", Kind: "area", Value: lines(a.Header), Place: "Authorization: Bearer …", Hint: "Values are kept sealed and never shown again: " + hidden + " stands for one that is set."},
			secretInput("Signing secret, optional", a.Secret, "whsec_ and base64. Calls are then signed as in Standard Webhooks."),
			{Name: "batch", Group: "Calls", Half: true, Label: "Most items in a call", Kind: "number", Value: orNothing(int64(a.Batch)), Place: "100"},
			{Name: "timeout", Half: true, Label: "Timeout of a call", Value: span(a.Timeout), Place: "30s"},
			{Name: "retry.max_attempts", Half: true, Label: "Most attempts of an item", Kind: "number", Value: orNothing(int64(retry.MaxAttempts)), Place: "5"},
			{Name: "retry.base", Half: true, Label: "Delay after the first failure", Value: span(retry.Base), Place: "1s"},
			{Name: "retry.cap", Half: true, Label: "Longest delay", Value: span(retry.Cap), Place: "5m"},
			{Name: "resource", Half: true, Label: "Resource", Value: a.Resource, Place: "as the action", Hint: "Actions with the same resource share its limits."},
			{Name: "schema", Group: "Who and what", Label: "JSON schema of items, optional", Kind: "area", Value: pretty(a.Schema), Hint: "Items that do not match are refused before anything is sent."},
			{Name: "tenants", Label: "Tenants that may use it", Value: strings.Join(a.Tenants, ", "), Place: "All", Hint: "Separated by commas."},
			{Name: "disabled", Label: "Disabled: new bulk actions cannot use it", Kind: "check", Value: checked(a.Disabled)},
		}
	},
	read: func(_ *visit, s *sheet, a *api.Action) {
		a.URL, a.UndoURL, a.Resource = s.at("url").Value, s.at("undo_url").Value, s.at("resource").Value
		a.Header, a.Batch, a.Timeout = s.pairs("header"), int(s.number("batch")), s.duration("timeout")
		if secret := s.at("secret").Value; secret != "" {
			a.Secret = secret
		}
		retry := api.Retry{MaxAttempts: int(s.number("retry.max_attempts")), Base: s.duration("retry.base"), Cap: s.duration("retry.cap")}
		if a.Retry = nil; retry != (api.Retry{}) {
			a.Retry = &retry
		}
		a.Schema, a.Tenants, a.Disabled = s.json("schema"), s.list("tenants"), s.at("disabled").Checked()
	},
	gone: func(*api.Action) []fact {
		return []fact{{"Cannot be made", "new bulk actions with it; schedules that need it fail at their next time"},
			{"Continues", "every bulk action that exists. To end its calls, pause or cancel those."}}
	},
}

var connectionKind = kind[api.Connection]{
	tab: "Connections", path: "connections", noun: "connection", scope: "admin", weir: "weir connections list",
	text:  "Databases, buckets, brokers and HTTP servers that items are read from.",
	empty: "A connection lets bulk actions read their items from a database, a bucket, a topic or a segment. Create the first one, and test it.",
	heads: []head{{Name: "Name"}, {Name: "Kind"}, {Name: "URL", P2: true}, {Name: "Tenants", P2: true}, {Name: "From", P2: true}},
	of:    (*client.Client).Connections,
	name:  func(c *api.Connection) string { return c.Name }, title: func(c *api.Connection) string { return c.Name },
	origin: func(c *api.Connection) (api.Provenance, bool) { return c.Provenance, c.File != nil },
	row: func(_ *visit, c *api.Connection) []cell {
		return []cell{{Text: c.Name, Link: "/settings/connections/" + escape(c.Name) + "/edit"}, {Text: nameOf(connectionKinds, c.Kind)}, {Text: c.URL, Code: true, P2: true},
			{Text: tenantsOf(c.Tenants), P2: true}, originCell(c.Provenance, c.File != nil)}
	},
	owners: func(c *api.Connection) []string { return c.Tenants },
	verbs: func(c *api.Connection) []act {
		return []act{{Name: "Test", Of: c.Name, Path: "/settings/connections/" + escape(c.Name) + "/test", Post: true, Scope: "admin"}}
	},
	inputs: func(_ *visit, c *api.Connection) []*input {
		return []*input{
			{Name: "kind", Label: "Kind", Kind: "select", Options: connectionKinds, Value: cmp.Or(c.Kind, "postgres")},
			{Name: "url", Label: "Address, without secrets", Value: c.URL, Needed: true, Place: "db.example.com:5432",
				Hint: "PostgreSQL: host:port, with the database as an option. Kafka: host:port,host:port. S3 and HTTP: a URL."},
			{Name: "secret", Label: "Secrets, one a line", Kind: "area", Value: lines(c.Secret), Place: "password: …", Hint: "Kept sealed and never shown again: " + hidden + " stands for one that is set."},
			{Name: "option", Label: "Options, one a line", Kind: "area", Value: lines(c.Option), Place: "user: reader\ndatabase: crm"},
			{Name: "tenants", Label: "Tenants that may use it", Value: strings.Join(c.Tenants, ", "), Place: "All", Hint: "Separated by commas."},
		}
	},
	read: func(_ *visit, s *sheet, c *api.Connection) {
		c.Kind, c.URL, c.Secret, c.Option, c.Tenants = s.at("kind").Value, s.at("url").Value, s.pairs("secret"), s.pairs("option"), s.list("tenants")
	},
	gone: func(*api.Connection) []fact {
		return []fact{{"Will fail", "bulk actions and schedules that read from it"}, {"Stays", "what was read from it already"}}
	},
}

var connectionKinds = []option{{"postgres", "PostgreSQL"}, {"s3", "S3 or compatible"}, {"kafka", "Kafka"}, {"http", "HTTP"}}

var templateKind = kind[api.Template]{
	tab: "Templates", path: "templates", noun: "template", scope: "submit", weir: "weir templates list", made: true,
	text:  "Bulk actions that are prepared once and used often, with parameters that are filled in each time.",
	empty: "A template is a bulk action that others can start by filling in a few values. Create the first one.",
	heads: []head{{Name: "Name"}, {Name: "Title"}, {Name: "Tenant", P2: true}, {Name: "Parameters", P2: true}, {Name: "Changed", P2: true}},
	of:    (*client.Client).Templates,
	name:  func(t *api.Template) string { return t.Name }, title: func(t *api.Template) string { return cmp.Or(t.Title, t.Name) },
	row: func(_ *visit, t *api.Template) []cell {
		var params []string
		for _, p := range t.Params {
			params = append(params, p.Name)
		}
		return []cell{{Text: t.Name, Link: "/settings/templates/" + escape(t.Name) + "/edit"}, {Text: t.Title, Sub: cutText(t.Description)}, {Text: cmp.Or(t.Tenant, "Shared"), P2: true},
			{Text: cmp.Or(strings.Join(params, ", "), "None"), P2: true}, {At: t.ChangedAt, P2: true}}
	},
	owners: func(t *api.Template) []string {
		if t.Tenant == "" {
			return nil
		}
		return []string{t.Tenant}
	},
	verbs: func(t *api.Template) []act {
		return []act{{Name: "Schedule", Of: t.Name, Path: "/schedules/new?template=" + escape(t.Name), Scope: "submit"}}
	},
	inputs: func(_ *visit, t *api.Template) []*input {
		params := ""
		if len(t.Params) > 0 {
			params = definition(t.Params)
		}
		bulk := ""
		if t.Name != "" {
			bulk = definition(t.BulkAction)
		}
		return []*input{
			{Name: "title", Label: "Title", Value: t.Title, Place: "Spring reward"},
			{Name: "description", Label: "Description", Kind: "area", Value: t.Description, Hint: "For the people who use it."},
			{Name: "tenant", Label: "Tenant", Value: t.Tenant, Fixed: t.Name != "", Hint: "Empty: the only tenant of your key, else shared by all."},
			{Name: "params", Label: "Parameters, as JSON or YAML", Kind: "code", Folded: true, Value: params, Place: "- name: amount\n  type: integer\n  title: Amount\n  required: true", Hint: "A list: name, type (string, number, integer, boolean, date), title, required, default, allowed, min, max."},
			{Name: "bulk_action", Label: "Bulk action, as JSON or YAML", Kind: "code", Folded: true, Value: bulk, Place: "steps:\n- action: award\n  input:\n    amount: params.amount", Hint: "Its steps and rules. Expressions see a parameter as params.NAME."},
		}
	},
	read: func(_ *visit, s *sheet, t *api.Template) {
		t.Title, t.Description = s.at("title").Value, s.at("description").Value
		if !s.at("tenant").Fixed {
			t.Tenant = s.at("tenant").Value
		}
		t.Params, t.BulkAction = nil, api.NewBulkAction{}
		s.define("params", &t.Params)
		s.define("bulk_action", &t.BulkAction)
	},
	gone: func(*api.Template) []fact {
		return []fact{{"Will fail", "schedules that use it, at their next time"}, {"Stays", "every bulk action that was made from it"}}
	},
}

// cutText shortens a text to one line.
func cutText(s string) string {
	if s, _, _ = strings.Cut(s, "\n"); len(s) > mostLine {
		return strings.ToValidUTF8(s[:mostLine], "") + "…"
	}
	return s
}

var tenantKind = kind[api.Tenant]{
	tab: "Tenants", path: "tenants", noun: "tenant", scope: ofAll + "control", weir: "weir tenants list", every: true,
	text:  "How much each tenant may use. A tenant that is not listed has the weight 1 and no limits of its own.",
	empty: "No tenant has settings of its own: all have the weight 1 and no limits.",
	heads: []head{{Name: "Name"}, {Name: "State"}, {Name: "Weight", Num: true}, {Name: "Tasks at once", Num: true, P2: true}, {Name: "Pending items", Num: true, P2: true}, {Name: "From", P2: true}},
	of:    (*client.Client).Tenants,
	name:  func(t *api.Tenant) string { return t.Name }, title: func(t *api.Tenant) string { return t.Name },
	origin: func(t *api.Tenant) (api.Provenance, bool) { return t.Provenance, t.File != nil },
	row: func(_ *visit, t *api.Tenant) []cell {
		state := sign{"running", "On", "running"}
		if t.Paused {
			state = sign{"paused", "Paused", "paused"}
		}
		limit := func(n int64) string {
			if n == 0 {
				return "No limit"
			}
			return format.Count(n)
		}
		return []cell{{Text: t.Name, Link: "/settings/tenants/" + escape(t.Name) + "/edit"}, {Sign: &state}, {Text: strconv.FormatFloat(cmp.Or(t.Weight, 1), 'f', -1, 64), Num: true},
			{Text: limit(int64(t.MaxTasks)), Num: true, P2: true}, {Text: limit(t.MaxPending), Num: true, P2: true}, originCell(t.Provenance, t.File != nil)}
	},
	inputs: func(_ *visit, t *api.Tenant) []*input {
		weight := ""
		if t.Weight != 0 {
			weight = strconv.FormatFloat(t.Weight, 'f', -1, 64)
		}
		return []*input{
			{Name: "weight", Half: true, Label: "Weight", Value: weight, Place: "1", Hint: "Its share beside the others: 2 gets twice as much as 1."},
			{Name: "max_tasks", Half: true, Label: "Most tasks at once on a node", Kind: "number", Value: orNothing(int64(t.MaxTasks)), Place: "No limit"},
			{Name: "max_pending", Half: true, Label: "Most items accepted and not ended", Kind: "number", Value: orNothing(t.MaxPending), Place: "No limit"},
			{Name: "paused", Label: "Paused: start no tasks of the tenant", Kind: "check", Value: checked(t.Paused), Hint: "Calls that are running end. Nothing is lost."},
		}
	},
	read: func(_ *visit, s *sheet, t *api.Tenant) {
		t.Weight, t.MaxTasks, t.MaxPending, t.Paused = s.real("weight"), int(s.number("max_tasks")), s.number("max_pending"), s.at("paused").Checked()
	},
	gone: func(t *api.Tenant) []fact {
		back := fact{"Applies again", "the weight 1, without limits"}
		if t.File != nil {
			back.Value = "what the configuration file says"
		}
		return []fact{back, {"Stays", "its bulk actions and their results"}}
	},
}
