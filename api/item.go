package api

import (
	"encoding/json"
	"time"
)

// Item is one target of a bulk action.
type Item struct {
	ID   string          `json:"id" maxLength:"256"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Appended is the answer to items that were added.
type Appended struct {
	Accepted   int64  `json:"accepted"`
	Duplicates int64  `json:"duplicates" doc:"Rows of this append whose id came before in it; ids of different appends are compared when it is sealed"`
	BadLines   int64  `json:"bad_lines,omitempty"`
	Total      int64  `json:"total" doc:"Items of the draft so far"`
	Durability string `json:"durability" enum:"memory,disk,replicated"`
}

// ItemResult is how an item ended, or where it stands.
type ItemResult struct {
	Item       string          `json:"item" example:"itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41" doc:"Names the item in URLs, where the user's own id, which may be personal data, has no place: itm_, the bulk action's id without ba_, a hyphen, and its number from 0"`
	ID         string          `json:"id" doc:"The user's own id"`
	BulkAction string          `json:"bulk_action"`
	Name       string          `json:"name,omitempty" doc:"Of the bulk action"`
	Tenant     string          `json:"tenant,omitempty"`
	State      string          `json:"state" enum:"ready,waiting,in_flight,done,failed,cancelled"`
	Step       string          `json:"step,omitempty" doc:"Where it ended or stands"`
	Code       string          `json:"code,omitempty"`
	Message    string          `json:"message,omitempty"`
	Reason     string          `json:"reason,omitempty" doc:"Why it was cancelled; skipped: it was done without a call at its last step"`
	Attempts   int             `json:"attempts"`
	Data       json.RawMessage `json:"data,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	History    []ItemEvent     `json:"history,omitempty" nullable:"false"`
}

// ItemEvent is what happened to an item at one step.
type ItemEvent struct {
	Step     string          `json:"step"`
	Result   string          `json:"result" enum:"done,skipped,failed,left_out,pending" doc:"skipped: it passed the step without a call"`
	At       time.Time       `json:"at,omitzero" doc:"When the result became durable, where that is known"`
	Attempts int             `json:"attempts,omitempty"`
	Key      string          `json:"idempotency_key"`
	Code     string          `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
}

// Lookup asks what happened to an item, over all bulk actions.
type Lookup struct {
	ID     string `json:"id" minLength:"1" maxLength:"256" example:"user-42"`
	Tenant string `json:"tenant,omitempty"`
	Limit  int    `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"The most bulk actions, the newest first. Default 100"`
}

// Found is all that happened to an item.
type Found struct {
	ID      string       `json:"id"`
	History []ItemResult `json:"history" nullable:"false" doc:"The newest bulk action first"`
}

// ErrorGroup is failures that look alike.
type ErrorGroup struct {
	Step    string    `json:"step"`
	Action  string    `json:"action"`
	Code    string    `json:"code"`
	Message string    `json:"message" doc:"With numbers and ids replaced" example:"account <id> is closed"`
	Count   int64     `json:"count" doc:"Exact where missed is 0"`
	Missed  int64     `json:"missed,omitempty" doc:"How many more may count as other: above 0 only while it runs, or in the groups of many bulk actions, and only beyond 256 groups"`
	Example string    `json:"example,omitempty" doc:"Message of the sample in full, up to 1,000 bytes"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Sample  string    `json:"sample,omitempty" doc:"An item of it, for its URL"`
}

// ErrorGroups are the failures of a bulk action.
type ErrorGroups struct {
	Data []ErrorGroup `json:"data" nullable:"false"`
}

// Preview shows the first items as the first step would get them.
type Preview struct {
	Items  []PreviewItem `json:"items" nullable:"false"`
	Faults []Fault       `json:"faults,omitempty" nullable:"false"`
}

// PreviewItem is one item, and what its first step would be sent.
type PreviewItem struct {
	ID     string          `json:"id"`
	Data   json.RawMessage `json:"data"`
	Input  json.RawMessage `json:"input,omitempty"`
	Faults []Fault         `json:"faults,omitempty" nullable:"false"`
}

// Trial sends a few items through before anything starts.
type Trial struct {
	Items  []string `json:"items,omitempty" nullable:"false" maxItems:"20" doc:"Ids of the items to send. Default: the first one"`
	First  int      `json:"first,omitempty" minimum:"0" maximum:"20" doc:"Send so many from the beginning"`
	Step   string   `json:"step,omitempty" doc:"Only this step. Default: the whole chain"`
	DryRun *bool    `json:"dry_run,omitempty" doc:"Tell the endpoint that it is only a trial. Default true"`
}

// TrialResult is what happened in a trial.
type TrialResult struct {
	Steps []TrialStep `json:"steps" nullable:"false"`
}

// TrialStep is one call of a trial.
type TrialStep struct {
	Step     string       `json:"step"`
	Action   string       `json:"action"`
	Request  string       `json:"request,omitempty" doc:"The body as it was sent"`
	Status   int          `json:"status,omitempty"`
	Response string       `json:"response,omitempty" doc:"The answer, cut to 64 KiB"`
	Took     Duration     `json:"took"`
	Error    string       `json:"error,omitempty"`
	Items    []ItemResult `json:"items" nullable:"false"`
}
