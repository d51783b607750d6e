package api

import (
	"encoding/json"
	"time"
)

// State is the state of a bulk action.
type State string

// The states of a bulk action. Completed, Cancelled and Failed are final.
const (
	Draft      State = "draft"             // items can be added
	Importing  State = "importing"         // its source is being read
	Sealed     State = "sealed"            // complete, and not started
	Scheduled  State = "scheduled"         // starts by itself at start_at
	Running    State = "running"           // tasks start as limits and fairness allow
	Awaiting   State = "awaiting_approval" // the canary has ended; the remaining items wait for approval
	Paused     State = "paused"
	Stopped    State = "stopped"    // a failure rule fired; can be resumed
	Cancelling State = "cancelling" // cancelled, or past its deadline; running tasks finish, and counts still change
	Cancelled  State = "cancelled"
	Completed  State = "completed"
	Failed     State = "failed" // cannot continue, for example because its source is invalid
)

// States lists the states, roughly in the order in which a bulk action passes them.
func States() []State {
	return []State{Draft, Importing, Sealed, Scheduled, Running, Awaiting, Paused, Stopped, Cancelling, Cancelled, Completed, Failed}
}

// Final reports whether state and counts will not change any more.
func (s State) Final() bool { return s == Cancelled || s == Completed || s == Failed }

// NewBulkAction describes a bulk action to create.
type NewBulkAction struct {
	Name       string            `json:"name,omitempty" maxLength:"128" doc:"Display name. Default: the names of its steps" example:"spring-reward"`
	Tenant     string            `json:"tenant,omitempty" maxLength:"128" doc:"The tenant that owns it. Default: the key's only tenant, else default" example:"growth"`
	Template   string            `json:"template,omitempty" maxLength:"128" doc:"The template to create it from, which defines the steps and the rules; see Templates" example:"spring-reward"`
	Steps      []Step            `json:"steps,omitempty" maxItems:"16" nullable:"false" doc:"The actions to run for each item, in order. Required, unless a template defines them"`
	Params     json.RawMessage   `json:"params,omitempty" doc:"A JSON object that expressions see as params, of at most 64 KiB. With a template: its parameters"`
	ItemID     string            `json:"item_id,omitempty" doc:"The member or column that holds an item's id. Default: detected by name, such as id, user_id, customer number or email; see Limits to know. Not used for items, whose id is beside their data" example:"user_id"`
	Columns    map[string]string `json:"columns,omitempty" doc:"Names that steps read of an item, each with the member or column of the data that holds it: rows are read with these renamed. Default: the names of the data itself"`
	Items      []Item            `json:"items,omitempty" nullable:"false" doc:"The items, if they are few: the bulk action is sealed at once"`
	Source     *Source           `json:"source,omitempty" doc:"The source to read the items from when it starts"`
	Duplicates string            `json:"duplicates,omitempty" enum:"refuse,keep_first,keep_all" doc:"What to do with duplicate ids. Default refuse"`
	FoldIDs    bool              `json:"fold_ids,omitempty" doc:"Read ids in lower case and without spaces around them, so that Anna@X.de and anna@x.de are the same item. The data keeps them as they are"`
	OnBadLine  string            `json:"on_bad_line,omitempty" enum:"refuse,record" doc:"What to do with rows that cannot be read or do not match the action's schema, or for which an expression of the first step fails. Default refuse"`
	AllowEmpty bool              `json:"allow_empty,omitempty" doc:"Accept it without items"`
	Start      bool              `json:"start,omitempty" doc:"Start as soon as it is sealed"`
	Rules
	StartAt  string            `json:"start_at,omitempty" doc:"When to start: RFC 3339, or a local time together with zone" example:"2026-12-24T00:00"`
	Zone     string            `json:"zone,omitempty" doc:"IANA zone of start_at" example:"Europe/Berlin"`
	Callback *Callback         `json:"callback,omitempty" doc:"The endpoint that is notified when it ends"`
	Labels   map[string]string `json:"labels,omitempty" doc:"Labels to filter by: at most 64, with names of 1 to 63 bytes and values of at most 256"`
	KeepFor  Duration          `json:"keep_for,omitempty" doc:"Retention after its end; it is removed within an hour after that" example:"720h"`
}

// Rules holds the settings that can change while a bulk action runs.
type Rules struct {
	Tier        string          `json:"tier,omitempty" enum:"critical,high,default,low" doc:"Urgency relative to other bulk actions. Default default"`
	Priority    int             `json:"priority,omitempty" minimum:"-100" maximum:"100" doc:"Orders the bulk actions of one tenant; one point counts as one minute of age"`
	Concurrency int             `json:"concurrency,omitempty" minimum:"0" doc:"Maximum tasks in flight; 0: no limit of its own"`
	Rates       map[string]Rate `json:"rates,omitempty" doc:"Maximum items per second at a step, by step id"`
	StopOn      *StopOn         `json:"stop_on,omitempty"`
	Canary      *Canary         `json:"canary,omitempty"`
	Deadline    time.Time       `json:"deadline,omitzero" doc:"When it ends, and cancels the remaining items. Within its tenant it runs first when that is necessary to meet the deadline, as long as the deadline can be met; see late of waiting_on"`
}

// Step is one action of a bulk action.
type Step struct {
	ID     string            `json:"id,omitempty" doc:"Name of the step in expressions and reports. Default: the name of the action" example:"notify"`
	Action string            `json:"action" doc:"Name of the action" example:"send-message"`
	Input  map[string]string `json:"input,omitempty" doc:"Input of the action: its members, each with an expression. Default: the item unchanged"`
	When   string            `json:"when,omitempty" doc:"Run the step only for items for which this expression is true; see otherwise" example:"steps.award.output.amount > 0"`
	// Otherwise says what happens to the other items.
	Otherwise string `json:"otherwise,omitempty" enum:"leave_out,skip" doc:"What happens to items for which when is false. leave_out: they end as cancelled, with reason condition. skip: they pass the step without a call. Default leave_out"`
}

// StopOn stops a bulk action when too many items fail.
type StopOn struct {
	FailureRate float64 `json:"failure_rate,omitempty" minimum:"0" maximum:"1" doc:"Stop when more than this fraction of the ended items failed"`
	MinItems    int64   `json:"min_items,omitempty" minimum:"0" doc:"How many items must have ended before failure_rate applies. Default 100"`
	MaxFailures int64   `json:"max_failures,omitempty" minimum:"-1" doc:"Stop when more items than this failed; -1: at the first failure"`
	Cancel      bool    `json:"cancel,omitempty" doc:"Cancel the remaining items. Default: they stay, and the bulk action can be resumed"`
	KeepTrying  bool    `json:"keep_trying,omitempty" doc:"Continue even if no call of a step has ever succeeded. Default: stop after 3 failed calls or more in 30 seconds; in 5 seconds if every response says that the request itself is wrong, such as 404; in 2 minutes if the action has answered other bulk actions"`
}

// Canary runs a part of the items first.
type Canary struct {
	Percent     float64  `json:"percent,omitempty" minimum:"0" maximum:"100" doc:"Percentage of the items that will run, without duplicates"`
	Items       int64    `json:"items,omitempty" minimum:"0"`
	Approve     string   `json:"approve,omitempty" enum:"manual,auto" doc:"How the remaining items are approved. manual: by a user. auto: by the rule below; a canary that fails the rule waits for a user. Default manual"`
	SuccessRate float64  `json:"success_rate,omitempty" minimum:"0" maximum:"1" doc:"Only with auto: minimum fraction of the canary that must be done. Default 0.99"`
	P95         Duration `json:"p95,omitempty" doc:"Only with auto: maximum duration of a task at the 95th percentile" example:"2s"`
}

// Callback is an endpoint that is notified when a bulk action ends.
type Callback struct {
	URL    string   `json:"url" maxLength:"2048"`
	Secret string   `json:"secret,omitempty" doc:"Signs events as defined by Standard Webhooks: whsec_ and base64. Never shown again"`
	Events []string `json:"events,omitempty" nullable:"false" doc:"Default: completed, cancelled, stopped, failed, canary_ready, late"`
}

// BulkAction is a bulk action and its progress.
type BulkAction struct {
	ID      string            `json:"id" example:"ba_01k9x2v6w4s8m1c7q3d5f9h0jz"`
	Name    string            `json:"name"`
	Tenant  string            `json:"tenant"`
	State   State             `json:"state" enum:"draft,importing,sealed,scheduled,running,awaiting_approval,paused,stopped,cancelling,cancelled,completed,failed"`
	Phase   string            `json:"phase,omitempty" enum:"canary,main" doc:"While it runs"`
	Outcome string            `json:"outcome,omitempty" enum:"all_done,some_failed,some_cancelled" doc:"Set when it has completed. some_failed: an item failed. some_cancelled: no item failed, but some were cancelled or left out. Not set if it was stopped or cancelled"`
	Pending string            `json:"pending,omitempty" enum:"start,pause,resume,cancel,approve,unschedule" doc:"In the answer to a command: it is stored, and will be carried out when a node takes over the bulk action. Not set if it has been carried out"`
	Reason  string            `json:"reason,omitempty" doc:"Why it is paused, stopped, being cancelled, cancelled or failed"`
	Steps   []Step            `json:"steps" nullable:"false"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Source  *Source           `json:"source,omitempty"`
	ItemID  string            `json:"item_id,omitempty" doc:"The member or column that was named as the item id"`
	Columns map[string]string `json:"columns,omitempty" doc:"Names that steps read of an item, each with the member or column that holds it"`
	// OnDuplicate is what Duplicates of its request said; here Duplicates is a number.
	OnDuplicate string            `json:"on_duplicate,omitempty" enum:"refuse,keep_first,keep_all" doc:"What was to be done with duplicate ids: duplicates of its request. Not set: refuse"`
	FoldIDs     bool              `json:"fold_ids,omitempty" doc:"Whether ids were read in lower case and without spaces around them"`
	OnBadLine   string            `json:"on_bad_line,omitempty" enum:"refuse,record" doc:"What was to be done with invalid rows. Not set: refuse"`
	Labels      map[string]string `json:"labels,omitempty"`
	Rules
	Callback    *Callback  `json:"callback,omitempty" doc:"The endpoint that is notified when it ends, without the secret"`
	Counts      Counts     `json:"counts"`
	Duplicates  int64      `json:"duplicates" doc:"Rows left out because of a duplicate id"`
	BadLines    int64      `json:"bad_lines,omitempty" doc:"Invalid rows, if on_bad_line is record"`
	RetryOf     string     `json:"retry_of,omitempty"`
	UndoOf      string     `json:"undo_of,omitempty"`
	Retries     []string   `json:"retries,omitempty" nullable:"false" doc:"Bulk actions that retried items of this one; not in lists"`
	Retried     *Retried   `json:"retried,omitempty" doc:"What became of the items that retries took; not in lists, and not set if a retry is no longer kept or if there are more than 50"`
	Open        int64      `json:"open,omitempty" doc:"Failed items that are not dealt with: those of this bulk action and of its retries that were neither retried nor discarded. counts.failed are those before any retry"`
	UndoneBy    string     `json:"undone_by,omitempty" doc:"The bulk action that undoes this one"`
	Undone      *Undone    `json:"undone,omitempty" doc:"How far undone_by has come"`
	Schedule    string     `json:"schedule,omitempty" doc:"The schedule that created it"`
	Template    *MadeFrom  `json:"template,omitempty" doc:"The template that it was created from; later changes of the template do not change it"`
	CreatedWith *Rules     `json:"created_with,omitempty" doc:"The rules that it was created with, if they have been changed since"`
	StartAt     time.Time  `json:"start_at,omitzero"`
	Warnings    []string   `json:"warnings,omitempty" nullable:"false" doc:"What its rules lead to where that is probably not meant, such as a rate at which the items take a week"`
	Note        string     `json:"note,omitempty" doc:"A note for the caller, for example about a local time that occurs twice on that day"`
	CreatedAt   time.Time  `json:"created_at" doc:"When its id was made, in whole milliseconds: lists are in this order"`
	StartedAt   time.Time  `json:"started_at,omitzero"`
	FinishedAt  time.Time  `json:"finished_at,omitzero"`
	LastError   *LastError `json:"last_error,omitempty"`
	Durability  string     `json:"durability,omitempty" enum:"memory,disk,replicated" doc:"What accepted work survives: memory (a crash of the store can lose the last second), disk (loss of power) or replicated (loss of any one machine)"`
	Losses      []Loss     `json:"losses,omitempty" nullable:"false" doc:"Accepted work that the store lost before this bulk action ended"`
	Progress    *Progress  `json:"progress,omitempty" doc:"Its progress; only in lists with progress=true, and until it ends"`
	Links       Links      `json:"links"`
}

// Retried says what became of the items of a bulk action that retries took, including retries of retries.
type Retried struct {
	Failed      int64  `json:"failed" doc:"Failed items that were retried"`
	Cancelled   int64  `json:"cancelled" doc:"Cancelled items that were retried"`
	Done        int64  `json:"done" doc:"How many of both are done now"`
	FailedAgain int64  `json:"failed_again" doc:"How many have failed again"`
	Left        int64  `json:"left" doc:"How many have not ended yet"`
	Text        string `json:"text" doc:"The same, for people" example:"All 50 failed items were retried: 50 done"`
}

// Undone says how far the undo of a bulk action has come.
type Undone struct {
	State  State `json:"state,omitempty" doc:"State of the undo; not set if it was removed at the end of its retention"`
	Items  int64 `json:"items" doc:"How many items it undoes"`
	Done   int64 `json:"done" doc:"How many of them are undone"`
	Failed int64 `json:"failed" doc:"How many could not be undone"`
}

// Loss records accepted work of a partition that the store lost. Items of the bulk action may have run again with the
// same keys, and results may be missing.
type Loss struct {
	Partition  int       `json:"partition"`
	Have       uint64    `json:"have" doc:"The last commit in the store"`
	Acked      uint64    `json:"acked" doc:"The last acknowledged commit"`
	FoundAt    time.Time `json:"found_at"`
	AcceptedAt time.Time `json:"accepted_at,omitzero" doc:"When an operator accepted the loss; until then the partition is stopped"`
}

// Links holds the URLs of a bulk action and its parts.
type Links struct {
	Self        string `json:"self"`
	Items       string `json:"items"`
	Progress    string `json:"progress"`
	Events      string `json:"events"`
	Report      string `json:"report"`
	ErrorGroups string `json:"error_groups"`
}

// Counts holds the number of items in each state; they add up to the total.
type Counts struct {
	Total     int64 `json:"total"`
	Ready     int64 `json:"ready"`
	Waiting   int64 `json:"waiting"`
	InFlight  int64 `json:"in_flight"`
	Done      int64 `json:"done"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// StepProgress counts the results of one step.
type StepProgress struct {
	Step     string `json:"step"`
	Action   string `json:"action"`
	Done     int64  `json:"done"`
	Failed   int64  `json:"failed"`
	LeftOut  int64  `json:"left_out"`
	Attempts int64  `json:"attempts" doc:"Items sent; each time counts"`
	Calls    int64  `json:"calls" doc:"Calls of the action that have ended, successful or not; a call carries up to a batch of items"`
	Retries  int64  `json:"retries" doc:"Attempts that followed another one of the same item"`
	Refused  int64  `json:"refused" doc:"Items refused because the downstream was busy (429) or said that the request is wrong (404); not counted as attempts"`
	Pending  int64  `json:"pending" doc:"Items that reached the step and have not ended there"`

	Cancelled int64 `json:"cancelled,omitempty" doc:"Items at the step when the bulk action was cancelled"`
	Skipped   int64 `json:"skipped,omitempty" doc:"Of the done items, those that passed the step without a call"`
	Called    int64 `json:"called,omitempty" doc:"Items with at least one attempt: attempts divided by these are the attempts per item"`
	Unclear   int64 `json:"unclear,omitempty" doc:"Of the pending or cancelled items, those that were called without a clear answer: the service may have done them. After the crash of a node, a cancel adds those that may have been in a call"`
}

// Cause is a reason why a bulk action does not run faster.
type Cause struct {
	Reason   string    `json:"reason" example:"rate" enum:"rate,concurrency,no_workers,fair_share,first_call,circuit_open,refused,failing,retry,unknown_action,source,approval,paused,paused_tenant,late,draft,importing,sealed,scheduled,stopped,cancelling" doc:"rate, concurrency, no_workers, fair_share, first_call (waits for the response to the first call of an action), circuit_open, refused, failing, retry, unknown_action, source, approval, paused, paused_tenant, late (it will miss its deadline), or a state in which no task starts: draft, importing, sealed, scheduled, stopped, cancelling"`
	Text     string    `json:"text,omitempty" doc:"What it waits on, for people, with the limit that applies" example:"Rate of send-message, 300/s"`
	Resource string    `json:"resource,omitempty"`
	Step     string    `json:"step,omitempty"`
	Detail   string    `json:"detail,omitempty" doc:"Details, for people" example:"unreachable: dial tcp 127.0.0.1:80: connect: connection refused (14 calls failed)"`
	Since    time.Time `json:"since,omitzero" doc:"When this began, if known: when the circuit opened"`
	Until    time.Time `json:"until,omitzero" doc:"When this may end, if known: the next probe of the circuit, or the start time"`
}

// LastError is the latest reason of failed calls, and how many failed for that reason.
type LastError struct {
	Step    string    `json:"step"`
	Code    string    `json:"code" example:"unreachable"`
	Message string    `json:"message" doc:"Message of the newest failure"`
	Count   int64     `json:"count" doc:"Calls that failed for this reason since first"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Failing bool      `json:"failing" doc:"No call of the step has succeeded since"`
}

// Progress is the progress of a bulk action.
type Progress struct {
	State         State          `json:"state"`
	Phase         string         `json:"phase,omitempty"`
	Reason        string         `json:"reason,omitempty"`
	Counts        Counts         `json:"counts"`
	Steps         []StepProgress `json:"steps" nullable:"false"`
	Rate          float64        `json:"rate" doc:"Items ended per second, recently"`
	ETA           Duration       `json:"eta,omitempty" doc:"Estimated time until the end, from the forecast model with the current load and limits. Not set while it or its tenant is paused, or all calls fail" example:"35m19s"`
	LikelyEnd     time.Time      `json:"likely_end,omitzero" doc:"Now and eta"`
	LikelyEndFrom time.Time      `json:"likely_end_from,omitzero" doc:"With likely_end_to: between which times it will probably end. Set if its speed varied in the last minutes, or if its tenant has other work on the same resources" example:"2026-11-15T15:07:12Z"`
	LikelyEndTo   time.Time      `json:"likely_end_to,omitzero" example:"2026-11-15T15:14:40Z"`
	NoEnd         string         `json:"no_end,omitempty" doc:"Why the end is not known, until it has ended" example:"It waits for approval."`
	WaitingOn     []Cause        `json:"waiting_on" nullable:"false" doc:"Why it does not run faster, the worst cause first"`
	LastError     *LastError     `json:"last_error,omitempty"`
	Cancel        *CancelPreview `json:"cancel,omitempty" doc:"What a cancel would do now. Not set if it cannot be cancelled"`
	At            time.Time      `json:"at" doc:"When the numbers were taken: now, or when the node that runs it wrote them"`
}

// CancelPreview counts what a cancel would do to the items of a bulk action that have not ended.
type CancelPreview struct {
	Items       int64       `json:"items" doc:"Items that would be cancelled at once: those ready and waiting"`
	InFlight    int64       `json:"in_flight" doc:"Items in flight. Their calls end; those that then have a step or an attempt left are cancelled, too"`
	Text        string      `json:"text" doc:"What it would do to items that are ready, waiting and in flight, in words"`
	Unclear     int64       `json:"unclear,omitempty" doc:"Items that were called and have given no clear answer so far: the service may have done them. After the death of a node they include those that may have been in a call, as the report will"`
	UnclearText string      `json:"unclear_text,omitempty" doc:"What is unclear about these, in words"`
	Begun       []BegunStep `json:"begun,omitempty" nullable:"false" doc:"Items that have done a step and would not get the next one, by step"`
}

// BegunStep counts items between two steps.
type BegunStep struct {
	Done  string `json:"done" doc:"The step that they have done"`
	Next  string `json:"next" doc:"The step that they would not get"`
	Items int64  `json:"items" doc:"Includes items in flight at the next step, which may still end there"`
	Text  string `json:"text" doc:"What a cancel would mean for them, in words"`
}

// StateChange is the data of the event state.
type StateChange struct {
	State  State  `json:"state"`
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// EventTicket lets the EventSource of a browser watch a bulk action.
type EventTicket struct {
	URL       string    `json:"url" doc:"Path of the stream with the ticket, for new EventSource(server + url)"`
	ExpiresAt time.Time `json:"expires_at" doc:"Until when it opens a stream"`
}

// Change changes the rules of a bulk action, also while it runs. Omitted fields keep their values.
type Change struct {
	Tier        *string         `json:"tier,omitempty" enum:"critical,high,default,low"`
	Priority    *int            `json:"priority,omitempty" minimum:"-100" maximum:"100"`
	Concurrency *int            `json:"concurrency,omitempty" minimum:"0"`
	Rates       map[string]Rate `json:"rates,omitempty" doc:"By step; unlimited removes a rate. Omitted steps keep their rates"`
	StopOn      *StopOnChange   `json:"stop_on,omitempty" doc:"{} removes the rule"`
	Reason      string          `json:"reason,omitempty" maxLength:"256"`
}

// StopOnChange changes members of [StopOn]. Omitted members keep their values; without any member, the rule is removed.
type StopOnChange struct {
	FailureRate *float64 `json:"failure_rate,omitempty" minimum:"0" maximum:"1" doc:"0 removes it"`
	MinItems    *int64   `json:"min_items,omitempty" minimum:"0" doc:"0 restores the default"`
	MaxFailures *int64   `json:"max_failures,omitempty" minimum:"-1" doc:"0 removes it"`
	Cancel      *bool    `json:"cancel,omitempty"`
	KeepTrying  *bool    `json:"keep_trying,omitempty"`
}

// Verb is the body of pause, resume, cancel, approve, unschedule and undo.
type Verb struct {
	Reason string `json:"reason,omitempty" maxLength:"256" doc:"Reason for the audit log"`
}

// Start starts a sealed bulk action, now or at a time.
type Start struct {
	StartAt string `json:"start_at,omitempty" doc:"Default: now"`
	Zone    string `json:"zone,omitempty"`
	Reason  string `json:"reason,omitempty" maxLength:"256"`
}

// Seal seals a draft: no more items can be added.
type Seal struct {
	ExpectedItems *int64 `json:"expected_items,omitempty" minimum:"0" doc:"Number of rows sent, including duplicates and bad lines that were left out; any other number is refused"`
	Start         bool   `json:"start,omitempty" doc:"Start at once"`
}

// Again selects items to retry, and says how.
type Again struct {
	State   string `json:"state,omitempty" enum:"failed,cancelled" doc:"State of the items to retry: failed, or cancelled (with the bulk action, by its deadline, a user or a rule; not items that a step left out). Default failed"`
	Step    string `json:"step,omitempty" doc:"Only items that ended at this step"`
	Code    string `json:"code,omitempty" doc:"Only items with this error code"`
	Message string `json:"message,omitempty" doc:"Only items of the error group with this message"`
	Filter  string `json:"filter,omitempty" doc:"Only items for which this expression is true" example:"item.country == 'DE' and attempts < 3"`
	Rate    Rate   `json:"rate,omitempty" doc:"Maximum items per second"`
	NewKeys bool   `json:"new_keys,omitempty" doc:"Give the items new idempotency keys; a call that did succeed downstream is then repeated. Default: items keep their keys"`
	Name    string `json:"name,omitempty" maxLength:"128" doc:"Name of the retries. Default: the name of the bulk action and the number of the retry" example:"spring-reward (retry 1)"`
	Reason  string `json:"reason,omitempty" maxLength:"256"`
}

// Linked holds bulk actions created from others.
type Linked struct {
	Items       int64        `json:"items"`
	BulkActions []BulkAction `json:"bulk_actions" nullable:"false"`
	Skipped     int64        `json:"skipped,omitempty" doc:"Selected items whose bulk actions still run; they can be retried when those have ended"`
}
