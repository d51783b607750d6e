package api

import (
	"encoding/json"
	"time"
)

// State is where a bulk action is.
type State string

// The states of a bulk action. Completed, Cancelled and Failed are final.
const (
	Draft      State = "draft"             // items can be added
	Importing  State = "importing"         // its source is being read
	Sealed     State = "sealed"            // complete, and not started
	Scheduled  State = "scheduled"         // starts by itself at start_at
	Running    State = "running"           // tasks start as limits and fairness allow
	Awaiting   State = "awaiting_approval" // the canary has ended; the rest waits for a decision
	Paused     State = "paused"
	Stopped    State = "stopped"    // a failure rule fired; can be resumed
	Cancelling State = "cancelling" // cancelled, or its deadline is over; what runs still ends, and its counts move
	Cancelled  State = "cancelled"
	Completed  State = "completed"
	Failed     State = "failed" // cannot go on, as when its source is bad
)

// Final reports whether nothing more will happen: state and counts stay as they are.
func (s State) Final() bool { return s == Cancelled || s == Completed || s == Failed }

// NewBulkAction asks for a bulk action.
type NewBulkAction struct {
	Name       string          `json:"name,omitempty" maxLength:"128" doc:"For people. Default: the names of its steps" example:"spring-reward"`
	Tenant     string          `json:"tenant,omitempty" maxLength:"128" doc:"Whose work it is. Default: the key's only tenant, else default" example:"growth"`
	Template   string          `json:"template,omitempty" maxLength:"128" doc:"The template that it is made from: it has the steps and the rules; see Templates" example:"spring-reward"`
	Steps      []Step          `json:"steps,omitempty" maxItems:"16" nullable:"false" doc:"What is done to each item, in order. They have to be there, unless a template has them"`
	Params     json.RawMessage `json:"params,omitempty" doc:"A JSON object that expressions see as params; the parameters of the template, if there is one"`
	ItemID     string          `json:"item_id,omitempty" doc:"The member or column that is an item's id. Default: known by its name, such as id, user_id or email; see Limits to know. It is not for items, which have an id beside their data" example:"user_id"`
	Items      []Item          `json:"items,omitempty" nullable:"false" doc:"The items themselves, if they are few: the bulk action is sealed at once"`
	Source     *Source         `json:"source,omitempty" doc:"Where the items are read from when it starts"`
	Duplicates string          `json:"duplicates,omitempty" enum:"refuse,keep_first,keep_all" doc:"What happens when an id comes twice. Default refuse"`
	OnBadLine  string          `json:"on_bad_line,omitempty" enum:"refuse,record" doc:"What happens to a row that cannot be read or does not fit the action's schema. Default refuse"`
	AllowEmpty bool            `json:"allow_empty,omitempty" doc:"Accept it without any item"`
	Start      bool            `json:"start,omitempty" doc:"Start as soon as it is sealed"`
	Rules
	StartAt  string            `json:"start_at,omitempty" doc:"When to start: RFC 3339, or a local time together with zone" example:"2026-12-24T00:00"`
	Zone     string            `json:"zone,omitempty" doc:"IANA zone of start_at" example:"Europe/Berlin"`
	Callback *Callback         `json:"callback,omitempty" doc:"Who is told of its end"`
	Labels   map[string]string `json:"labels,omitempty" doc:"For finding it again"`
	KeepFor  Duration          `json:"keep_for,omitempty" doc:"How long it is kept after its end" example:"720h"`
}

// Rules are what can be changed while a bulk action runs.
type Rules struct {
	Tier        string          `json:"tier,omitempty" enum:"critical,high,default,low" doc:"How urgent it is beside others. Default default"`
	Priority    int             `json:"priority,omitempty" minimum:"-100" maximum:"100" doc:"Orders bulk actions of one tenant; a point is worth a minute of age"`
	Concurrency int             `json:"concurrency,omitempty" minimum:"0" doc:"The most tasks of it in flight at once; 0: no bound of its own"`
	Rates       map[string]Rate `json:"rates,omitempty" doc:"The most items per second of it at a step, by the step's id"`
	StopOn      *StopOn         `json:"stop_on,omitempty"`
	Canary      *Canary         `json:"canary,omitempty"`
	Deadline    time.Time       `json:"deadline,omitzero" doc:"When it ends with what is done by then. Inside its tenant it goes first when it has to, as long as it can be met; see late of waiting_on"`
}

// Step is one action of a bulk action.
type Step struct {
	ID     string            `json:"id,omitempty" doc:"Names the step in expressions and reports. Default: the action" example:"notify"`
	Action string            `json:"action" doc:"What is done" example:"send-message"`
	Input  map[string]string `json:"input,omitempty" doc:"What the action gets: members and the expressions that make them. Default: the item as it is"`
	When   string            `json:"when,omitempty" doc:"Only items for which this is true; see otherwise" example:"steps.award.output.amount > 0"`
	// Otherwise says what happens to the others.
	Otherwise string `json:"otherwise,omitempty" enum:"leave_out,skip" doc:"What happens to items for which when is false: they end as cancelled, reason condition, or pass the step without a call. Default leave_out"`
}

// StopOn ends a bulk action early when too much fails.
type StopOn struct {
	FailureRate float64 `json:"failure_rate,omitempty" minimum:"0" maximum:"1" doc:"Stop when more than this part of the ended items failed"`
	MinItems    int64   `json:"min_items,omitempty" minimum:"0" doc:"How many must have ended before failure_rate counts. Default 100"`
	MaxFailures int64   `json:"max_failures,omitempty" minimum:"-1" doc:"Stop when more items than this failed; -1: at the first"`
	Cancel      bool    `json:"cancel,omitempty" doc:"Cancel the rest. Default: it stays, and can be resumed"`
	KeepTrying  bool    `json:"keep_trying,omitempty" doc:"Go on although no call of a step has ever succeeded. Default: stop after 3 failed calls or more in 30 seconds; in 5 seconds if every answer says that the call itself is wrong, as 404 does; in 2 minutes if the action has answered other bulk actions"`
}

// Canary runs a part of the items first.
type Canary struct {
	Percent     float64  `json:"percent,omitempty" minimum:"0" maximum:"100" doc:"Of the items that will run, without duplicates"`
	Items       int64    `json:"items,omitempty" minimum:"0"`
	Approve     string   `json:"approve,omitempty" enum:"manual,auto" doc:"Who decides on the rest: a person, or the rule below; what fails the rule waits for a person. Default manual"`
	SuccessRate float64  `json:"success_rate,omitempty" minimum:"0" maximum:"1" doc:"Only with auto: at least this part of the canary is done. Default 0.99"`
	P95         Duration `json:"p95,omitempty" doc:"Only with auto: a task takes no longer than this, in 95 of 100 cases" example:"2s"`
}

// Callback is who is told of a bulk action's end.
type Callback struct {
	URL    string   `json:"url" maxLength:"2048"`
	Secret string   `json:"secret,omitempty" doc:"Signs by Standard Webhooks: whsec_ and base64. It is never shown again"`
	Events []string `json:"events,omitempty" nullable:"false" doc:"Default: completed, cancelled, stopped, failed, canary_ready, late"`
}

// BulkAction is a bulk action and how far it is.
type BulkAction struct {
	ID      string            `json:"id" example:"ba_01k9x2v6w4s8m1c7q3d5f9h0jz"`
	Name    string            `json:"name"`
	Tenant  string            `json:"tenant"`
	State   State             `json:"state" enum:"draft,importing,sealed,scheduled,running,awaiting_approval,paused,stopped,cancelling,cancelled,completed,failed"`
	Phase   string            `json:"phase,omitempty" enum:"canary,main" doc:"While it runs"`
	Outcome string            `json:"outcome,omitempty" enum:"all_done,some_failed,some_cancelled" doc:"When it has completed: some_failed if any item failed; some_cancelled if none did, and some were cancelled or left out. One that was stopped or cancelled has none"`
	Reason  string            `json:"reason,omitempty" doc:"Why it is paused, stopped, being cancelled, cancelled or failed"`
	Steps   []Step            `json:"steps" nullable:"false"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Source  *Source           `json:"source,omitempty"`
	ItemID  string            `json:"item_id,omitempty" doc:"The member or column that was named as an item's id"`
	Labels  map[string]string `json:"labels,omitempty"`
	Rules
	Callback   *Callback  `json:"callback,omitempty" doc:"Who is told of its end; without the secret"`
	Counts     Counts     `json:"counts"`
	Duplicates int64      `json:"duplicates" doc:"Rows that were left out because their id came before"`
	BadLines   int64      `json:"bad_lines,omitempty" doc:"Rows that could not be used, where on_bad_line is record"`
	RetryOf    string     `json:"retry_of,omitempty"`
	UndoOf     string     `json:"undo_of,omitempty"`
	Retries    []string   `json:"retries,omitempty" nullable:"false" doc:"Bulk actions that tried items of this one again; not in lists"`
	UndoneBy   string     `json:"undone_by,omitempty" doc:"The bulk action that takes back what this one has done; not in lists"`
	Schedule   string     `json:"schedule,omitempty" doc:"The schedule that made it"`
	Template   *MadeFrom  `json:"template,omitempty" doc:"The template that it was made from; changes of that do not change it"`
	StartAt    time.Time  `json:"start_at,omitzero"`
	Note       string     `json:"note,omitempty" doc:"What the caller should know, as of a time that came twice on that day"`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  time.Time  `json:"started_at,omitzero"`
	FinishedAt time.Time  `json:"finished_at,omitzero"`
	LastError  *LastError `json:"last_error,omitempty"`
	Durability string     `json:"durability,omitempty" enum:"memory,disk,replicated" doc:"What the acknowledgement survives"`
	Losses     []Loss     `json:"losses,omitempty" nullable:"false" doc:"Accepted work that the store lost while this had not ended"`
	Links      Links      `json:"links"`
}

// Loss is accepted work of a partition that the store lost. Items of the bulk action may have been run again under the
// same keys, and results may be missing.
type Loss struct {
	Partition  int       `json:"partition"`
	Have       uint64    `json:"have" doc:"The last commit that was left"`
	Acked      uint64    `json:"acked" doc:"The last commit that was acknowledged"`
	FoundAt    time.Time `json:"found_at"`
	AcceptedAt time.Time `json:"accepted_at,omitzero" doc:"When an operator went on with what was left; until then the partition is stopped"`
}

// Links lead to what belongs to a bulk action.
type Links struct {
	Self        string `json:"self"`
	Items       string `json:"items"`
	Progress    string `json:"progress"`
	Events      string `json:"events"`
	Report      string `json:"report"`
	ErrorGroups string `json:"error_groups"`
}

// Counts says how many items are in which state; they add up to the total.
type Counts struct {
	Total     int64 `json:"total"`
	Ready     int64 `json:"ready"`
	Waiting   int64 `json:"waiting"`
	InFlight  int64 `json:"in_flight"`
	Done      int64 `json:"done"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// StepProgress is what happened at one step.
type StepProgress struct {
	Step     string `json:"step"`
	Action   string `json:"action"`
	Done     int64  `json:"done"`
	Failed   int64  `json:"failed"`
	LeftOut  int64  `json:"left_out"`
	Attempts int64  `json:"attempts" doc:"Items sent, each time counted"`
	Calls    int64  `json:"calls" doc:"Calls of the action that have ended, however they did; one carries up to a batch of items"`
	Retries  int64  `json:"retries"`
	Refused  int64  `json:"refused" doc:"Sent back by a downstream that was busy (429) or said that the call is wrong (404); no attempt was counted"`
	Pending  int64  `json:"pending" doc:"Reached the step and have not ended there"`

	Cancelled int64 `json:"cancelled,omitempty" doc:"Reached the step and were there when the bulk action was cancelled"`
	Skipped   int64 `json:"skipped,omitempty" doc:"Of those done: they passed the step without a call"`
}

// Cause is why a bulk action moves no faster.
type Cause struct {
	Reason   string `json:"reason" example:"rate" doc:"rate, concurrency, no_workers, fair_share, first_call (the first call of an action tells whether its endpoint works), circuit_open, refused, failing, retry, unknown_action, source, approval, paused, paused_tenant, late (it will not be done by its deadline), or the state in which nothing starts: draft, importing, sealed, scheduled, stopped, cancelling"`
	Resource string `json:"resource,omitempty"`
	Step     string `json:"step,omitempty"`
	Detail   string `json:"detail,omitempty" doc:"What is known of it, for people" example:"unreachable: dial tcp 127.0.0.1:80: connect: connection refused (14 calls failed)"`
}

// LastError is why calls failed last, and how many failed for the same reason.
type LastError struct {
	Step    string    `json:"step"`
	Code    string    `json:"code" example:"unreachable"`
	Message string    `json:"message" doc:"Of the newest of them"`
	Count   int64     `json:"count" doc:"Calls that failed this way since first"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Failing bool      `json:"failing" doc:"No call of the step has succeeded since"`
}

// Progress is how far a bulk action is.
type Progress struct {
	State     State          `json:"state"`
	Phase     string         `json:"phase,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Counts    Counts         `json:"counts"`
	Steps     []StepProgress `json:"steps" nullable:"false"`
	Rate      float64        `json:"rate" doc:"Items ended per second, lately"`
	ETA       Duration       `json:"eta,omitempty" doc:"Time until the end, by the model that makes forecasts, with the load and the limits as they are now. Nothing while it or its tenant is paused, or all calls fail" example:"35m19s"`
	WaitingOn []Cause        `json:"waiting_on" nullable:"false" doc:"Why it moves no faster, worst first"`
	LastError *LastError     `json:"last_error,omitempty"`
	At        time.Time      `json:"at" doc:"From when the numbers are: now, or when the node that runs it wrote them"`
}

// StateChange is the data of the event state.
type StateChange struct {
	State  State  `json:"state"`
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Change changes what a bulk action may use, while it runs. What is left out stays.
type Change struct {
	Tier        *string         `json:"tier,omitempty" enum:"critical,high,default,low"`
	Priority    *int            `json:"priority,omitempty" minimum:"-100" maximum:"100"`
	Concurrency *int            `json:"concurrency,omitempty" minimum:"0"`
	Rates       map[string]Rate `json:"rates,omitempty" doc:"By step; unlimited takes a rate away. Steps that are not named keep theirs"`
	StopOn      *StopOnChange   `json:"stop_on,omitempty" doc:"{} takes the rule away"`
	Reason      string          `json:"reason,omitempty" maxLength:"256"`
}

// StopOnChange changes the members of [StopOn] that it names. What is left out stays; without any, the rule is taken away.
type StopOnChange struct {
	FailureRate *float64 `json:"failure_rate,omitempty" minimum:"0" maximum:"1" doc:"0 takes it away"`
	MinItems    *int64   `json:"min_items,omitempty" minimum:"0" doc:"0 goes back to the default"`
	MaxFailures *int64   `json:"max_failures,omitempty" minimum:"-1" doc:"0 takes it away"`
	Cancel      *bool    `json:"cancel,omitempty"`
	KeepTrying  *bool    `json:"keep_trying,omitempty"`
}

// Verb goes with start, pause, resume, cancel and approve.
type Verb struct {
	Reason string `json:"reason,omitempty" maxLength:"256" doc:"For the audit log and for whoever looks later"`
}

// Start starts a sealed bulk action, or says when.
type Start struct {
	StartAt string `json:"start_at,omitempty" doc:"Default: now"`
	Zone    string `json:"zone,omitempty"`
	Reason  string `json:"reason,omitempty" maxLength:"256"`
}

// Seal ends the adding of items.
type Seal struct {
	ExpectedItems *int64 `json:"expected_items,omitempty" minimum:"0" doc:"How many rows were sent, with duplicates and bad lines that were left out; another number is refused"`
	Start         bool   `json:"start,omitempty" doc:"Start at once"`
}

// Again is which items to try again, and how.
type Again struct {
	State   string `json:"state,omitempty" enum:"failed,cancelled" doc:"How they ended: failed, or cancelled with the bulk action, by its deadline, a person or a rule; not those that a step left out. Default failed"`
	Step    string `json:"step,omitempty" doc:"Only those that ended at this step"`
	Code    string `json:"code,omitempty" doc:"Only those with this error code"`
	Message string `json:"message,omitempty" doc:"Only those of the error group with this message"`
	Filter  string `json:"filter,omitempty" doc:"Only those for which this expression is true" example:"item.country == 'DE' and attempts < 3"`
	Rate    Rate   `json:"rate,omitempty" doc:"At most so many items per second"`
	NewKeys bool   `json:"new_keys,omitempty" doc:"Give the items new idempotency keys: what the downstream had done after all is done again. Default: they keep their keys"`
	Reason  string `json:"reason,omitempty" maxLength:"256"`
}

// Linked is a bulk action made of another one, or several.
type Linked struct {
	Items       int64        `json:"items"`
	BulkActions []BulkAction `json:"bulk_actions" nullable:"false"`
	Skipped     int64        `json:"skipped,omitempty" doc:"Items that were meant and whose bulk actions still run: those can be tried again when they have ended"`
}
