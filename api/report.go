package api

import "time"

// Report is what became of a bulk action.
type Report struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Tenant     string       `json:"tenant"`
	State      State        `json:"state"`
	Reason     string       `json:"reason,omitempty" doc:"Why it was stopped or cancelled"`
	Outcome    string       `json:"outcome,omitempty" enum:"all_done,some_failed,some_cancelled" doc:"When it has completed: some_failed if any item failed; some_cancelled if none did, and some were cancelled or left out. One that was stopped or cancelled has none"`
	RetryOf    string       `json:"retry_of,omitempty"`
	Retries    []string     `json:"retries,omitempty" nullable:"false" doc:"Bulk actions that tried items of this one again"`
	UndoOf     string       `json:"undo_of,omitempty"`
	UndoneBy   string       `json:"undone_by,omitempty" doc:"The bulk action that takes back what this one has done"`
	Combined   *Counts      `json:"combined,omitempty" doc:"Counts with the retries taken into account"`
	Counts     Counts       `json:"counts"`
	Duplicates int64        `json:"duplicates"`
	Steps      []StepReport `json:"steps" nullable:"false"`
	Errors     []ErrorGroup `json:"error_groups" nullable:"false"`
	Waited     []Waited     `json:"waited" nullable:"false"`
	Forecast   *Accuracy    `json:"forecast,omitempty"`
	Losses     []Loss       `json:"losses,omitempty" nullable:"false" doc:"Accepted work that the store lost while this had not ended"`
	StartedAt  time.Time    `json:"started_at,omitzero"`
	FinishedAt time.Time    `json:"finished_at,omitzero"`
	Duration   Duration     `json:"duration"`
	Durability string       `json:"durability"`
	Files      Files        `json:"files"`
}

// StepReport is what became of one step.
type StepReport struct {
	StepProgress
	Rate float64  `json:"rate"`
	P50  Duration `json:"p50,omitempty"`
	P95  Duration `json:"p95,omitempty"`
	P99  Duration `json:"p99,omitempty"`
}

// Waited is what a bulk action waited on, and for how long.
type Waited struct {
	Reason   string   `json:"reason"`
	Duration Duration `json:"duration"`
	Share    float64  `json:"share"`
}

// Accuracy is how good the forecast was.
type Accuracy struct {
	P50   Duration `json:"p50"`
	P90   Duration `json:"p90"`
	Error float64  `json:"error" doc:"Actual over forecast, less 1"`
}

// Files lead to the rows of a report.
type Files struct {
	Done      string `json:"done_csv"`
	Failed    string `json:"failed_csv"`
	Cancelled string `json:"cancelled_csv"`
}

// ForecastRequest asks how it would go.
type ForecastRequest struct {
	StartAt string          `json:"start_at,omitempty" doc:"Default: now"`
	Zone    string          `json:"zone,omitempty"`
	Rates   map[string]Rate `json:"rates,omitempty" doc:"What if resources had these rates?"`
}

// Forecast is how a bulk action would go if it started, with the present load.
type Forecast struct {
	Items       int64          `json:"items"`
	Duplicates  int64          `json:"duplicates"`
	Invalid     int64          `json:"invalid"`
	Steps       []ForecastStep `json:"steps" nullable:"false"`
	Takes       Quantiles      `json:"takes"`
	Finish      Finish         `json:"finish,omitzero"`
	EndedAt     time.Time      `json:"ended_at,omitzero" doc:"When it ended, if it has: there is nothing left to forecast, and assumptions say how long it took"`
	NoEnd       bool           `json:"no_end,omitempty" doc:"Nothing of it would succeed as things are, because calls fail: takes is 0, and there is no finish"`
	Bottleneck  *Bottleneck    `json:"bottleneck,omitempty"`
	Clashes     []Clash        `json:"clashes" nullable:"false"`
	Deadline    *bool          `json:"deadline_holds,omitempty"`
	Assumptions []string       `json:"assumptions" nullable:"false"`
}

// Quantiles of a duration.
type Quantiles struct {
	P50 Duration `json:"p50"`
	P90 Duration `json:"p90"`
}

// Finish is when it would end.
type Finish struct {
	P50 time.Time `json:"p50"`
	P90 time.Time `json:"p90"`
}

// ForecastStep is how one step would go.
type ForecastStep struct {
	Step   string   `json:"step"`
	Action string   `json:"action"`
	Items  int64    `json:"items"`
	Calls  int64    `json:"calls" doc:"About how many calls it will be, each attempt for itself"`
	Rate   float64  `json:"rate,omitempty"`
	Takes  Duration `json:"takes"`
}

// Bottleneck is what decides how long it takes.
type Bottleneck struct {
	Kind     string `json:"kind" enum:"rate,concurrency,workers,service"`
	Resource string `json:"resource"`
	Value    string `json:"value" example:"300/s"`
}

// Clash is other work on the same resource.
type Clash struct {
	Resource string  `json:"resource"`
	Tenants  int     `json:"tenants"`
	Backlog  int64   `json:"backlog"`
	Share    float64 `json:"share" doc:"What is left for this one"`
}
