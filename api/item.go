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

// Appended is the response to an append.
type Appended struct {
	Accepted   int64  `json:"accepted"`
	Duplicates int64  `json:"duplicates" doc:"Rows with a duplicate id within this append; ids of different appends are compared when the draft is sealed"`
	BadLines   int64  `json:"bad_lines,omitempty"`
	Total      int64  `json:"total" doc:"Items of the draft so far"`
	Durability string `json:"durability" enum:"memory,disk,replicated"`
}

// ItemResult is the result or the current state of an item.
type ItemResult struct {
	Item       string          `json:"item" example:"itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41" doc:"Id of the item for URLs, because your own id may be personal data: itm_, the bulk action's id without ba_, a hyphen, and the number of the item from 0"`
	ID         string          `json:"id" doc:"Your own id of the item"`
	BulkAction string          `json:"bulk_action"`
	Name       string          `json:"name,omitempty" doc:"Name of the bulk action"`
	Tenant     string          `json:"tenant,omitempty"`
	State      string          `json:"state" enum:"ready,waiting,in_flight,done,failed,cancelled"`
	Step       string          `json:"step,omitempty" doc:"The step at which it ended or is now"`
	Code       string          `json:"code,omitempty" doc:"The error code if it failed. no_clear_answer: it was called without a clear answer and has not ended, or was cancelled: the service may have done it"`
	Message    string          `json:"message,omitempty"`
	Unclear    bool            `json:"unclear,omitempty" doc:"It has no clear answer: the service may have done it. It failed at a call without an answer, as by a timeout, or has the code no_clear_answer"`
	Reason     string          `json:"reason,omitempty" doc:"Why it was cancelled. skipped: it is done, without a call at its last step"`
	Attempts   int             `json:"attempts"`
	RetriedBy  string          `json:"retried_by,omitempty" doc:"In downloads: the retry from which its state is; not set for an item that no retry took"`
	UndoneBy   string          `json:"undone_by,omitempty" doc:"The bulk action that has undone work of it, or is to undo it"`
	Data       json.RawMessage `json:"data,omitempty"`
	Output     json.RawMessage `json:"output,omitempty" doc:"Output of the last step that gave one"`
	// Outputs are those of all steps, by step.
	Outputs map[string]json.RawMessage `json:"outputs,omitempty" doc:"In downloads: output of each step that gave one, by step, if the chain has more than one. CSV has them as output.STEP.MEMBER; with one step, as output.MEMBER"`
	History []ItemEvent                `json:"history,omitempty" nullable:"false"`
}

// ItemEvent is the result of an item at one step.
type ItemEvent struct {
	Step     string          `json:"step"`
	Result   string          `json:"result" enum:"done,skipped,failed,left_out,cancelled,pending" doc:"skipped: the item passed the step without a call; left_out: the step ended it; cancelled: a cancel, a deadline or a rule ended it there"`
	At       time.Time       `json:"at,omitzero" doc:"When the result became durable, if known"`
	Attempts int             `json:"attempts,omitempty"`
	Key      string          `json:"idempotency_key"`
	Code     string          `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
}

// Lookup asks for the history of an item in all bulk actions.
type Lookup struct {
	ID     string `json:"id" minLength:"1" maxLength:"256" example:"user-42"`
	Tenant string `json:"tenant,omitempty"`
	Limit  int    `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"Maximum number of bulk actions, the newest first. Default 100"`
}

// Found is the history of an item.
type Found struct {
	ID      string       `json:"id"`
	History []ItemResult `json:"history" nullable:"false" doc:"The newest bulk action first"`
}

// ErrorGroup is a group of similar failures.
type ErrorGroup struct {
	Step    string    `json:"step"`
	Action  string    `json:"action"`
	Code    string    `json:"code"`
	Message string    `json:"message" doc:"With numbers and ids replaced" example:"account <id> is closed"`
	Count   int64     `json:"count" doc:"Exact if missed is 0"`
	Missed  int64     `json:"missed,omitempty" doc:"How many more failures may be counted as other. Above 0 only while the bulk action runs or in groups over many bulk actions, and only beyond 256 groups"`
	Example string    `json:"example,omitempty" doc:"Full message of the sample, up to 1,000 bytes"`
	Unclear bool      `json:"unclear,omitempty" doc:"Its items have no clear answer, as after a timeout: the service may have done them. A retry sends the same idempotency keys, unless it asks for new ones"`
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Sample  string    `json:"sample,omitempty" doc:"Id of one item of the group, for URLs"`
	Item    string    `json:"item,omitempty" doc:"Your own id of that item; in reports only"`
}

// ErrorGroups holds the failures of a bulk action.
type ErrorGroups struct {
	Data []ErrorGroup `json:"data" nullable:"false"`
}

// DataCheck says which rows of a draft can be used. Each row is in exactly one of items, duplicates and bad_lines.
type DataCheck struct {
	Rows       int64      `json:"rows" doc:"Rows that were read"`
	Items      int64      `json:"items" doc:"Rows that can be used"`
	Duplicates int64      `json:"duplicates" doc:"Rows whose id an earlier row has; 0 if duplicates is keep_all"`
	BadLines   int64      `json:"bad_lines" doc:"Rows that cannot be read, for which an expression of the first step fails, or that do not match the schema of its action"`
	Complete   bool       `json:"complete" doc:"Whether all rows were read. An upload is read up to 5 million rows, another source up to 10,000"`
	Name       string     `json:"name,omitempty" doc:"Name of the uploaded file"`
	Bytes      int64      `json:"bytes,omitempty" doc:"Size of the uploaded file"`
	Format     string     `json:"format,omitempty" enum:"csv,ndjson,json" doc:"Format of the uploaded file"`
	ItemID     string     `json:"item_id,omitempty" doc:"The member or column that the ids are read from; not set if the file has no such column: then no row was read, and faults tells why"`
	Columns    []string   `json:"columns" nullable:"false" doc:"Columns of the file, or members of the first items"`
	Reads      []Read     `json:"reads" nullable:"false" doc:"The names that the steps read of an item, and the columns that hold them"`
	Kinds      []BadLines `json:"kinds" nullable:"false" doc:"Bad lines by kind, the most frequent first; at most 20"`
	Faults     []Fault    `json:"faults" nullable:"false" doc:"The first bad lines"`
	Corrected  int64      `json:"corrected,omitempty" doc:"Bad rows that are not counted, because an added upload corrects them"`
	Uploads    []RowsOf   `json:"uploads,omitempty" nullable:"false" doc:"The uploads, if there are several"`
	Repeated   []SameID   `json:"repeated,omitempty" nullable:"false" doc:"The first rows whose id an earlier row has"`
	Alike      int64      `json:"alike,omitempty" doc:"Items whose id differs from that of an earlier item only in capitals or in spaces around it. They stay separate items"`
	AlikeRows  []SameID   `json:"alike_rows,omitempty" nullable:"false" doc:"The first 3 of them"`
}

// RowsOf counts the rows of one upload of several.
type RowsOf struct {
	Name string `json:"name,omitempty" doc:"Name of the file"`
	Rows int64  `json:"rows" doc:"Rows that were read, those that are corrected by a later upload left out"`
	List bool   `json:"list,omitempty" doc:"It is a corrected list of bad rows"`
}

// SameID is a row whose id an earlier row has.
type SameID struct {
	ID        string `json:"id"`
	Line      int64  `json:"line,omitempty"`
	File      int64  `json:"file,omitempty" doc:"Which upload the line is in, from 2; not set: the first"`
	FirstLine int64  `json:"first_line,omitempty" doc:"Line of the earlier row"`
	FirstFile int64  `json:"first_file,omitempty" doc:"Which upload the earlier row is in, from 2; not set: the first"`
	// The first rows alone are compared.
	Identical bool         `json:"identical,omitempty" doc:"All values are those of the earlier row"`
	Differs   []Difference `json:"differs,omitempty" nullable:"false" doc:"The first 5 columns or members whose values differ from those of the earlier row. Of the first 100 repeated rows of an upload"`
}

// Difference is a column in which two rows differ. Long values are cut.
type Difference struct {
	Field string `json:"field"`
	First string `json:"first,omitempty" doc:"Value of the earlier row"`
	Value string `json:"value,omitempty"`
}

// Read is a name that steps read of an item: an expression names it, or the schema of an action that gets the whole item.
type Read struct {
	Name      string `json:"name" example:"email"`
	Column    string `json:"column,omitempty" doc:"The column or member that holds it; not set: the data has none" example:"E-Mail"`
	Suggested string `json:"suggested,omitempty" doc:"If the data has none: the column that differs only in case, spaces or punctuation"`
}

// BadLines counts bad lines of one kind.
type BadLines struct {
	Count   int64    `json:"count"`
	Code    string   `json:"code"`
	Field   string   `json:"field,omitempty" doc:"The member or column"`
	Message string   `json:"message" doc:"What is wrong with the first one"`
	Fix     string   `json:"fix,omitempty"`
	Line    int64    `json:"line,omitempty" doc:"Line of the first one"`
	File    int64    `json:"file,omitempty" doc:"Which upload that line is in, from 2; not set: the first"`
	Values  []string `json:"values,omitempty" nullable:"false" doc:"Up to 3 of the values found"`
}

// Preview shows the first items and the input of the first step.
type Preview struct {
	Items  []PreviewItem `json:"items" nullable:"false"`
	Faults []Fault       `json:"faults,omitempty" nullable:"false"`
}

// PreviewItem is one item and the input of its first step.
type PreviewItem struct {
	ID     string          `json:"id"`
	Data   json.RawMessage `json:"data"`
	Input  json.RawMessage `json:"input,omitempty"`
	Faults []Fault         `json:"faults,omitempty" nullable:"false"`
}

// Trial sends a few items through the steps before the start.
type Trial struct {
	Items  []string `json:"items,omitempty" nullable:"false" maxItems:"20" doc:"Ids of the items to send. Default: the first item"`
	First  int      `json:"first,omitempty" minimum:"0" maximum:"20" doc:"Send this many items from the beginning"`
	Step   string   `json:"step,omitempty" doc:"Only this step. Default: the whole chain"`
	DryRun *bool    `json:"dry_run,omitempty" doc:"Mark the calls as a dry run. Default true"`
}

// TrialResult is the result of a trial.
type TrialResult struct {
	Steps []TrialStep `json:"steps" nullable:"false"`
}

// TrialStep is one call of a trial.
type TrialStep struct {
	Step     string       `json:"step"`
	Action   string       `json:"action"`
	Request  string       `json:"request,omitempty" doc:"Body of the request"`
	Status   int          `json:"status,omitempty"`
	Response string       `json:"response,omitempty" doc:"Body of the response, cut to 64 KiB"`
	Took     Duration     `json:"took"`
	Error    string       `json:"error,omitempty"`
	Items    []ItemResult `json:"items" nullable:"false"`
}
