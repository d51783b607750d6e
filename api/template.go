package api

import (
	"encoding/json"
	"time"
)

// Template is a bulk action that is made again and again, by its name and a few parameters.
type Template struct {
	Name        string          `json:"name,omitempty" doc:"As in the path"`
	Tenant      string          `json:"tenant,omitempty" maxLength:"128" doc:"Whose it is. Default: the key's only tenant; of a key without tenants: everybody's"`
	Title       string          `json:"title,omitempty" maxLength:"128" doc:"What it is called where people choose one" example:"Spring reward"`
	Description string          `json:"description,omitempty" maxLength:"4096" doc:"What it does, for those who use it"`
	Params      []TemplateParam `json:"params,omitempty" nullable:"false" maxItems:"64" doc:"What those who use it have to say, or may"`
	BulkAction  NewBulkAction   `json:"bulk_action" doc:"What is made, without items and without when it starts"`
	Version     string          `json:"version,omitempty" readOnly:"true" doc:"Another after each change, as the ETag"`
	CreatedAt   time.Time       `json:"created_at,omitzero" readOnly:"true"`
	ChangedAt   time.Time       `json:"changed_at,omitzero" readOnly:"true"`
}

// TemplateParam is one value that whoever uses a template gives it. Expressions see it as params.NAME.
type TemplateParam struct {
	Name     string            `json:"name" maxLength:"64" doc:"As expressions have it after params.: letters, digits and _" example:"amount"`
	Type     string            `json:"type" enum:"string,number,integer,boolean,date" doc:"A date is a text such as 2026-12-24"`
	Title    string            `json:"title,omitempty" maxLength:"128" doc:"What it is called where people fill it in"`
	Required bool              `json:"required,omitempty" doc:"It has to be given"`
	Default  json.RawMessage   `json:"default,omitempty" doc:"What it is if it is not given"`
	Allowed  []json.RawMessage `json:"allowed,omitempty" nullable:"false" maxItems:"256" doc:"The only values that it may have"`
	Min      json.RawMessage   `json:"min,omitempty" doc:"The smallest number, the first date, or the fewest characters of a string"`
	Max      json.RawMessage   `json:"max,omitempty" doc:"The largest number, the last date, or the most characters of a string"`
}

// MadeFrom is the template of a bulk action, as it was when that was made.
type MadeFrom struct {
	Name    string `json:"name"`
	Version string `json:"version" doc:"As the ETag of the template was then"`
}
