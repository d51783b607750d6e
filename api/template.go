package api

import (
	"encoding/json"
	"time"
)

// Template is a reusable bulk action with parameters.
type Template struct {
	Name        string          `json:"name,omitempty" doc:"As in the path"`
	Tenant      string          `json:"tenant,omitempty" maxLength:"128" doc:"The tenant that owns it. Default: the key's only tenant; for a key without tenants: shared by all tenants"`
	Title       string          `json:"title,omitempty" maxLength:"128" doc:"Display name" example:"Spring reward"`
	Description string          `json:"description,omitempty" maxLength:"4096" doc:"Description for users"`
	Params      []TemplateParam `json:"params,omitempty" nullable:"false" maxItems:"64" doc:"Parameters of the template"`
	BulkAction  NewBulkAction   `json:"bulk_action" doc:"The bulk action to create, without items and start time"`
	Version     string          `json:"version,omitempty" readOnly:"true" doc:"Changes with every change of the template, like the ETag"`
	CreatedAt   time.Time       `json:"created_at,omitzero" readOnly:"true"`
	ChangedAt   time.Time       `json:"changed_at,omitzero" readOnly:"true"`
}

// TemplateParam is one parameter of a template. Expressions see it as params.NAME.
type TemplateParam struct {
	Name     string            `json:"name" maxLength:"64" doc:"Name in expressions, after params.: letters, digits and _" example:"amount"`
	Type     string            `json:"type" enum:"string,number,integer,boolean,date" doc:"A date is a text such as 2026-12-24"`
	Title    string            `json:"title,omitempty" maxLength:"128" doc:"Display name"`
	Required bool              `json:"required,omitempty" doc:"Whether a value must be given"`
	Default  json.RawMessage   `json:"default,omitempty" doc:"Value if none is given"`
	Allowed  []json.RawMessage `json:"allowed,omitempty" nullable:"false" maxItems:"256" doc:"The allowed values"`
	Min      json.RawMessage   `json:"min,omitempty" doc:"Minimum number, first date, or minimum length of a string"`
	Max      json.RawMessage   `json:"max,omitempty" doc:"Maximum number, last date, or maximum length of a string"`
}

// MadeFrom names the template of a bulk action and its version at that time.
type MadeFrom struct {
	Name    string `json:"name"`
	Version string `json:"version" doc:"ETag of the template at that time"`
}
