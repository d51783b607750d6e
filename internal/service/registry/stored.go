package registry

import (
	"encoding/json"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/stored"
)

// storedAction is the record of an action, with sealed secrets.
type storedAction struct {
	Name     string            `json:"name,omitempty"`
	URL      string            `json:"url,omitempty"`
	UndoURL  string            `json:"undo_url,omitempty"`
	Header   map[string]string `json:"header,omitempty"`
	Secret   string            `json:"secret,omitempty"`
	Batch    int               `json:"batch,omitempty"`
	Timeout  stored.Duration   `json:"timeout,omitempty"`
	Retry    *storedRetry      `json:"retry,omitempty"`
	Resource string            `json:"resource,omitempty"`
	Schema   json.RawMessage   `json:"schema,omitempty"`
	Tenants  []string          `json:"tenants,omitempty"`
	Disabled bool              `json:"disabled,omitempty"`
	Deleted  bool              `json:"deleted,omitempty"` // running bulk actions keep it; new ones cannot use it
	Set      weir.Stamp        `json:"set,omitzero"`
}

// storedRetry says when and how often a failed item is retried.
type storedRetry struct {
	MaxAttempts int             `json:"max_attempts,omitempty"`
	Base        stored.Duration `json:"base,omitempty"`
	Cap         stored.Duration `json:"cap,omitempty"`
}

func actionRecord(a *api.Action) storedAction {
	out := storedAction{
		Name: a.Name, URL: a.URL, UndoURL: a.UndoURL, Header: a.Header, Secret: a.Secret, Batch: a.Batch,
		Timeout:  stored.Duration(a.Timeout),
		Resource: a.Resource, Schema: a.Schema, Tenants: a.Tenants, Disabled: a.Disabled,
	}
	if r := a.Retry; r != nil {
		out.Retry = &storedRetry{r.MaxAttempts, stored.Duration(r.Base), stored.Duration(r.Cap)}
	}
	return out
}

// api returns the action as a client would send it; its secrets are sealed.
func (s *storedAction) api() api.Action {
	out := api.Action{
		Name: s.Name, URL: s.URL, UndoURL: s.UndoURL, Header: s.Header, Secret: s.Secret, Batch: s.Batch,
		Timeout:  api.Duration(s.Timeout),
		Resource: s.Resource, Schema: s.Schema, Tenants: s.Tenants, Disabled: s.Disabled,
	}
	if r := s.Retry; r != nil {
		out.Retry = &api.Retry{MaxAttempts: r.MaxAttempts, Base: api.Duration(r.Base), Cap: api.Duration(r.Cap)}
	}
	return out
}

// there reports whether the action was not deleted.
func (s *storedAction) there() bool { return !s.Deleted }

// storedConnection is the record of a connection, with sealed secrets.
type storedConnection struct {
	Name    string            `json:"name,omitempty"`
	Kind    string            `json:"kind"`
	URL     string            `json:"url,omitempty"`
	Tenants []string          `json:"tenants,omitempty"`
	Secret  map[string]string `json:"secret,omitempty"`
	Option  map[string]string `json:"option,omitempty"`
	Set     weir.Stamp        `json:"set,omitzero"`
}

func connectionRecord(c *api.Connection, set weir.Stamp) storedConnection {
	return storedConnection{Name: c.Name, Kind: c.Kind, URL: c.URL, Tenants: c.Tenants, Secret: c.Secret, Option: c.Option, Set: set}
}

func (s *storedConnection) api() api.Connection {
	return api.Connection{Name: s.Name, Kind: s.Kind, URL: s.URL, Tenants: s.Tenants, Secret: s.Secret, Option: s.Option}
}

// storedTemplate is the record of a template. The secret of its callback is sealed.
type storedTemplate struct {
	Name        string          `json:"name,omitempty"`
	Tenant      string          `json:"tenant,omitempty"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Params      []templateParam `json:"params,omitempty"`
	BulkAction  stored.Spec     `json:"bulk_action"`
	CreatedAt   time.Time       `json:"created_at,omitzero"`
	ChangedAt   time.Time       `json:"changed_at,omitzero"`
}

// templateParam is one parameter of a template.
type templateParam struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Title    string            `json:"title,omitempty"`
	Required bool              `json:"required,omitempty"`
	Default  json.RawMessage   `json:"default,omitempty"`
	Allowed  []json.RawMessage `json:"allowed,omitempty"`
	Min      json.RawMessage   `json:"min,omitempty"`
	Max      json.RawMessage   `json:"max,omitempty"`
}

func templateRecord(t *api.Template) storedTemplate {
	out := storedTemplate{Name: t.Name, Tenant: t.Tenant, Title: t.Title, Description: t.Description,
		BulkAction: stored.Of(&t.BulkAction)}
	for _, p := range t.Params {
		out.Params = append(out.Params, templateParam(p))
	}
	return out
}

// api returns the template as responses show it: without its secret and its version.
func (s *storedTemplate) api() api.Template {
	out := api.Template{
		Name: s.Name, Tenant: s.Tenant, Title: s.Title, Description: s.Description, BulkAction: s.BulkAction.API(),
		CreatedAt: s.CreatedAt, ChangedAt: s.ChangedAt,
	}
	for _, p := range s.Params {
		out.Params = append(out.Params, api.TemplateParam(p))
	}
	return out
}
