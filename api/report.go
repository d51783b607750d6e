package api

import "time"

// Report is the report of a bulk action.
type Report struct {
	ID            string       `json:"id"`
	Name          string       `json:"name"`
	Tenant        string       `json:"tenant"`
	State         State        `json:"state"`
	Reason        string       `json:"reason,omitempty" doc:"Why it was stopped or cancelled"`
	Outcome       string       `json:"outcome,omitempty" enum:"all_done,some_failed,some_cancelled" doc:"Set when it has completed. some_failed: an item failed. some_cancelled: no item failed, but some were cancelled or left out. Not set if it was stopped or cancelled"`
	RetryOf       string       `json:"retry_of,omitempty"`
	Retries       []string     `json:"retries,omitempty" nullable:"false" doc:"Bulk actions that retried items of this one"`
	UndoOf        string       `json:"undo_of,omitempty"`
	UndoneBy      string       `json:"undone_by,omitempty" doc:"The bulk action that undoes this one"`
	Undone        *Undone      `json:"undone,omitempty" doc:"How far undone_by has come. The counts are those before it"`
	Combined      *Counts      `json:"combined,omitempty" doc:"Counts that include the retries"`
	Counts        Counts       `json:"counts"`
	Unclear       int64        `json:"unclear,omitempty" doc:"Items that did not end, or were cancelled, after a call without a clear answer: the service may have done them. They have the code no_clear_answer. Items that a retry has ended are not among them"`
	UnclearFailed int64        `json:"unclear_failed,omitempty" doc:"Items that failed without a clear answer to their last call, as by a timeout: the service may have done them. They have the code of their failure, and their error groups and rows have unclear. An item that was retried counts as it ended there; if the retry did not call it, as before"`
	UnclearText   string       `json:"unclear_text,omitempty" doc:"What is unclear about the items of unclear and unclear_failed, and what can be done about it, in words; set when it has ended"`
	UndoText      string       `json:"undo_text,omitempty" doc:"What an undo would not do for the items of unclear and unclear_failed, in words; set when it has ended and is not undone"`
	Duplicates    int64        `json:"duplicates"`
	BadLines      int64        `json:"bad_lines" doc:"Rows of the input that were left out because they are invalid"`
	Steps         []StepReport `json:"steps" nullable:"false"`
	Errors        []ErrorGroup `json:"error_groups" nullable:"false"`
	Waited        []Waited     `json:"waited" nullable:"false"`
	Forecast      *Accuracy    `json:"forecast,omitempty"`
	Losses        []Loss       `json:"losses,omitempty" nullable:"false" doc:"Accepted work that the store lost before this bulk action ended"`
	StartedAt     time.Time    `json:"started_at,omitzero"`
	FinishedAt    time.Time    `json:"finished_at,omitzero"`
	Duration      Duration     `json:"duration"`
	Durability    string       `json:"durability"`
	Files         Files        `json:"files"`
}

// StepReport is the report of one step.
type StepReport struct {
	StepProgress
	Rate float64  `json:"rate"`
	P50  Duration `json:"p50,omitempty"`
	P95  Duration `json:"p95,omitempty"`
	P99  Duration `json:"p99,omitempty"`
	Max  Duration `json:"max,omitempty"`
}

// Waited is a reason for which a bulk action waited, and how long.
type Waited struct {
	Reason   string   `json:"reason"`
	Text     string   `json:"text,omitempty" doc:"What it waited on, for people" example:"Its rate"`
	Duration Duration `json:"duration"`
	Share    float64  `json:"share"`
}

// Accuracy compares the forecast with the actual duration.
type Accuracy struct {
	P50   Duration `json:"p50"`
	P90   Duration `json:"p90"`
	Error float64  `json:"error" doc:"Actual duration divided by forecast, minus 1"`
}

// Files holds the URLs of the rows of a report, each item as it ended after all retries.
type Files struct {
	Done       string `json:"done_csv"`
	Failed     string `json:"failed_csv"`
	Cancelled  string `json:"cancelled_csv"`
	BadRows    string `json:"bad_rows_csv,omitempty" doc:"Rows of the upload that were left out because they are invalid"`
	Duplicates string `json:"duplicates_csv,omitempty" doc:"Rows of the upload that were left out because an earlier row has their id"`
}

// ForecastRequest asks for a forecast.
type ForecastRequest struct {
	StartAt string          `json:"start_at,omitempty" doc:"Default: now"`
	Zone    string          `json:"zone,omitempty"`
	Rates   map[string]Rate `json:"rates,omitempty" doc:"Rates to assume, by resource"`
	Items   int64           `json:"items,omitempty" minimum:"0" doc:"Number of items to assume for a draft that has not read its source"`
}

// Forecast predicts when a bulk action would finish if it started, with the current load.
type Forecast struct {
	Items       int64          `json:"items"`
	Duplicates  int64          `json:"duplicates"`
	Invalid     int64          `json:"invalid"`
	Steps       []ForecastStep `json:"steps" nullable:"false"`
	Takes       Quantiles      `json:"takes"`
	Finish      Finish         `json:"finish,omitzero"`
	EndedAt     time.Time      `json:"ended_at,omitzero" doc:"When it ended, if it has: then nothing is forecast, and assumptions say how long it took"`
	NoEnd       bool           `json:"no_end,omitempty" doc:"No item would succeed now, because calls are failing: takes is 0, and finish is not set"`
	Bottleneck  *Bottleneck    `json:"bottleneck,omitempty"`
	Clashes     []Clash        `json:"clashes" nullable:"false"`
	Deadline    *bool          `json:"deadline_holds,omitempty"`
	Assumptions []string       `json:"assumptions" nullable:"false"`
	Warnings    []string       `json:"warnings,omitempty" nullable:"false" doc:"As those of the bulk action, for the items of the forecast"`
}

// Quantiles of a duration.
type Quantiles struct {
	P50 Duration `json:"p50"`
	P90 Duration `json:"p90"`
}

// Finish holds quantiles of the finish time.
type Finish struct {
	P50 time.Time `json:"p50"`
	P90 time.Time `json:"p90"`
}

// ForecastStep is the forecast of one step.
type ForecastStep struct {
	Step   string   `json:"step"`
	Action string   `json:"action"`
	Items  int64    `json:"items"`
	Calls  int64    `json:"calls" doc:"Estimated number of calls; each attempt counts"`
	Rate   float64  `json:"rate,omitempty"`
	Takes  Duration `json:"takes"`
}

// Bottleneck is the limit that determines the duration.
type Bottleneck struct {
	Kind     string `json:"kind" enum:"rate,concurrency,workers,service"`
	Resource string `json:"resource"`
	Value    string `json:"value" example:"300/s"`
	Of       string `json:"of,omitempty" enum:"bulk_action,tenant" doc:"Whose limit it is. Not set: the resource's, or no limit at all"`
}

// Clash describes other work on the same resource.
type Clash struct {
	Resource string  `json:"resource"`
	Tenants  int     `json:"tenants"`
	Backlog  int64   `json:"backlog"`
	Share    float64 `json:"share" doc:"The share left for this bulk action"`
}

// Events tells what happened to a bulk action as a whole, the newest first.
type Events struct {
	Data []Event `json:"data" nullable:"false"`
}

// Event is something that happened to a bulk action.
type Event struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind" doc:"create, start, pause and the other commands; schedule: its start was set to a later time; began: its start time came; stopped and rule_cancelled: by its rule; canary_ready and canary_passed: its canary ended; late: it will not meet its deadline; expired: its deadline came; circuit_opened and circuit_closed: of a resource of it; delivery_failed: an event could not be delivered; failed: the first item of an error group; or the final state" example:"pause"`
	Text   string    `json:"text" doc:"What happened, for people" example:"Paused"`
	Actor  string    `json:"actor,omitempty" doc:"Name of the API key that did it"`
	Reason string    `json:"reason,omitempty"`
}
