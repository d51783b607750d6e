package api

import (
	"encoding/json"
	"time"
)

// Action is what can be done to items.
type Action struct {
	Name     string            `json:"name,omitempty" doc:"As in the path"`
	Kind     string            `json:"kind,omitempty" enum:"http,go,demo" readOnly:"true"`
	URL      string            `json:"url,omitempty" maxLength:"2048" doc:"Receives a POST per batch" example:"https://push.example.com/batch"`
	UndoURL  string            `json:"undo_url,omitempty" maxLength:"2048" doc:"Receives items whose work is to be undone, as url does; the data of an item is {\"data\": …, \"output\": …}: what the action had been given, and what it had answered"`
	Header   map[string]string `json:"header,omitempty" doc:"Sent with every call; values are never shown again"`
	Secret   string            `json:"secret,omitempty" doc:"Signs calls by Standard Webhooks; never shown again"`
	Batch    int               `json:"batch,omitempty" minimum:"0" maximum:"1000" doc:"The most items in a call. Default 100. Where the resource has a rate, calls have fewer: see its pacing"`
	Timeout  Duration          `json:"timeout,omitempty" doc:"Default 30s"`
	Retry    *Retry            `json:"retry,omitempty"`
	Resource string            `json:"resource,omitempty" doc:"What it uses. Default: one of its own name"`
	Schema   json.RawMessage   `json:"schema,omitempty" doc:"JSON schema that items have to fit"`
	Tenants  []string          `json:"tenants,omitempty" nullable:"false" doc:"Who may use it. Default: all"`
	Disabled bool              `json:"disabled,omitempty" doc:"Nothing new can use it. Bulk actions that have it go on: pause or cancel them to end the calls"`
	Undo     bool              `json:"undo,omitempty" readOnly:"true" doc:"Its work can be undone"`
	Provenance
	File *Action `json:"file,omitempty" readOnly:"true" doc:"What the configuration file says, where a change over the API came after it. Delete goes back to it"`
}

// Provenance tells where a setting comes from, who set it, and when. Changes made
// over the API survive restarts; the file holds where none was made.
type Provenance struct {
	Origin    string    `json:"origin,omitempty" enum:"api,file,program,default" readOnly:"true" doc:"Where it comes from: a change over the API, the configuration file, the program, or the default"`
	ChangedAt time.Time `json:"changed_at,omitzero" readOnly:"true" doc:"When it was changed, or read from the file"`
	ChangedBy string    `json:"changed_by,omitempty" readOnly:"true" doc:"The key that changed it, or the node that read the file"`
}

// Retry says when and how often a failed item is tried again.
type Retry struct {
	MaxAttempts int      `json:"max_attempts,omitempty" minimum:"0" maximum:"250" doc:"Default 5"`
	Base        Duration `json:"base,omitempty" doc:"The delay after the first failure. Default 1s"`
	Cap         Duration `json:"cap,omitempty" doc:"The longest delay. Default 5m"`
}

// ActionTest sends a made-up batch to an action.
type ActionTest struct {
	Items  []Item `json:"items" nullable:"false" minItems:"1" maxItems:"20"`
	DryRun *bool  `json:"dry_run,omitempty" doc:"Default true"`
}

// Resource is something downstream that must not be overrun.
type Resource struct {
	Name        string  `json:"name,omitempty"`
	Rate        *Rate   `json:"rate,omitempty" doc:"The most items per second, over all nodes" example:"450/s"`
	Concurrency *int    `json:"concurrency,omitempty" minimum:"0" maximum:"1000000" doc:"The most tasks at once, over all nodes; 0: no bound"`
	Pacing      *string `json:"pacing,omitempty" enum:"smooth,full" doc:"smooth: an even stream, a twentieth of a second's worth of items in a call. full: few calls, full batches of up to half a second's worth. Default smooth"`
}

// ResourceStatus is a resource and how it is used.
type ResourceStatus struct {
	Name        string  `json:"name"`
	Rate        Rate    `json:"rate"`
	Concurrency int     `json:"concurrency"`
	Pacing      string  `json:"pacing" enum:"smooth,full" doc:"smooth: an even stream. full: few calls"`
	Allowed     float64 `json:"allowed,omitempty" doc:"Items per second that flow control lets through now, where that is less"`
	Bearable    int     `json:"bearable,omitempty" doc:"Tasks at once that the resource was found to bear"`
	Use         float64 `json:"use" doc:"Part of what is allowed that is used"`
	InFlight    int     `json:"in_flight"`
	Ready       int64   `json:"ready" doc:"Items that wait for it"`
	Circuit     string  `json:"circuit" enum:"closed,open,half_open"`
	Reason      string  `json:"reason,omitempty"`
	Provenance
	File        *Resource `json:"file,omitempty" doc:"What the configuration file says, where a change over the API came after it. Delete goes back to it"`
	EffectiveAt time.Time `json:"effective_at,omitzero" doc:"In the answer to a change: since when, or from when on, all nodes keep to it"`
	Note        string    `json:"note,omitempty" doc:"In the answer to a change: that no action uses the resource, and which name was probably meant"`
}

// CircuitChange opens or closes a circuit by hand.
type CircuitChange struct {
	Do     string   `json:"do" enum:"open,close,free" doc:"free: it follows what happens again"`
	For    Duration `json:"for,omitempty" doc:"Default 10m"`
	Reason string   `json:"reason,omitempty" maxLength:"256"`
}

// Tenant is how much a tenant may use.
type Tenant struct {
	Name       string  `json:"name,omitempty"`
	Weight     float64 `json:"weight,omitempty" minimum:"0.001" maximum:"1000" doc:"Its share beside others; 2 gets twice as much as 1. Default 1"`
	MaxTasks   int     `json:"max_tasks,omitempty" minimum:"0" maximum:"1000000" doc:"The most tasks in flight at once on a node; 0: no bound"`
	MaxPending int64   `json:"max_pending,omitempty" minimum:"0" doc:"The most items accepted and not ended; 0: no bound"`
	Paused     bool    `json:"paused,omitempty" doc:"Nothing of it starts"`
	Provenance
	File *Tenant `json:"file,omitempty" readOnly:"true" doc:"What the configuration file says, where a change over the API came after it. Delete goes back to it"`
}

// Connection is a named way to a database, object store or topic.
type Connection struct {
	Name    string            `json:"name,omitempty"`
	Kind    string            `json:"kind" enum:"postgres,s3,kafka,http"`
	URL     string            `json:"url,omitempty" maxLength:"2048" doc:"Where it is, without secrets"`
	Tenants []string          `json:"tenants,omitempty" nullable:"false" doc:"Who may use it. Default: all"`
	Secret  map[string]string `json:"secret,omitempty" doc:"Passwords and keys by name; never shown again"`
	Option  map[string]string `json:"option,omitempty"`
	Provenance
	File *Connection `json:"file,omitempty" readOnly:"true" doc:"What the configuration file says, where a change over the API came after it. Delete goes back to it"`
}

// ConnectionTest tries a connection.
type ConnectionTest struct {
	Source *Source `json:"source,omitempty" doc:"What to read from it. Default: only whether somebody answers is found out"`
}

// ConnectionResult is how a try of a connection went.
type ConnectionResult struct {
	OK     bool     `json:"ok"`
	Took   Duration `json:"took"`
	Detail string   `json:"detail,omitempty" doc:"What happened"`
	Code   string   `json:"code,omitempty" doc:"Why it failed"`
	Items  []Item   `json:"items,omitempty" nullable:"false" doc:"The first items, if a source was given"`
}

// Source is where items are read from when a bulk action starts. One member is set.
type Source struct {
	Segment  *SegmentSource  `json:"segment,omitempty"`
	Postgres *PostgresSource `json:"postgres,omitempty"`
	Object   *ObjectSource   `json:"object,omitempty"`
	Kafka    *KafkaSource    `json:"kafka,omitempty"`
	PageSize int             `json:"page_size,omitempty" minimum:"0" maximum:"10000" doc:"How many items a page asks for. Default 1000"`
	Timeout  Duration        `json:"timeout,omitempty" doc:"How long one page may take. Default 30s"`
	Upload   string          `json:"upload,omitempty" doc:"An upload that has ended" example:"upl_01k9x2v6w4s8m1c7q3d5f9h0jz"`
}

// SegmentSource is a list behind a URL, page by page.
type SegmentSource struct {
	Connection  string          `json:"connection,omitempty"`
	URL         string          `json:"url" maxLength:"2048"`
	Method      string          `json:"method,omitempty" enum:"GET,POST" doc:"GET has page size and cursor in the query, POST in a JSON body. Default GET"`
	Body        json.RawMessage `json:"body,omitempty" doc:"A JSON object whose members a POST sends along"`
	LimitParam  string          `json:"limit_param,omitempty" doc:"Default limit"`
	CursorParam string          `json:"cursor_param,omitempty" doc:"Default cursor"`
}

// PostgresSource is a query.
type PostgresSource struct {
	Connection string `json:"connection"`
	Query      string `json:"query" doc:"One SELECT"`
	Key        string `json:"key" doc:"A column that is unique and can be ordered by: reading goes on after it"`
}

// ObjectSource is an object in S3 or something that speaks its language.
type ObjectSource struct {
	Connection string `json:"connection"`
	Bucket     string `json:"bucket"`
	Key        string `json:"key"`
	Format     string `json:"format,omitempty" enum:"csv,ndjson,json" doc:"Default: by its name"`
}

// KafkaSource is a topic, read up to where it ended when the reading began.
type KafkaSource struct {
	Connection string     `json:"connection"`
	Topic      string     `json:"topic"`
	Since      *time.Time `json:"since,omitempty" doc:"Default: its beginning"`
	IDFromKey  bool       `json:"id_from_key,omitempty" doc:"The record's key is the item's id"`
}

// Schedule makes bulk actions by itself.
type Schedule struct {
	ID         string          `json:"id,omitempty" readOnly:"true"`
	Name       string          `json:"name" maxLength:"128"`
	Tenant     string          `json:"tenant,omitempty"`
	Cron       string          `json:"cron,omitempty" maxLength:"256" doc:"Five fields: minute, hour, day, month, weekday" example:"0 9 * * 1"`
	Zone       string          `json:"zone,omitempty" maxLength:"64" example:"Asia/Tokyo" doc:"IANA zone of cron or at. Default UTC"`
	At         string          `json:"at,omitempty" maxLength:"64" doc:"Once, instead of cron: RFC 3339, or a local time together with zone" example:"2026-12-24T00:00"`
	BulkAction NewBulkAction   `json:"bulk_action" doc:"What is made each time; its items come from a source"`
	Overlap    string          `json:"overlap,omitempty" enum:"skip,queue,allow" doc:"What happens when the one before has not ended. Default skip"`
	CatchUp    Duration        `json:"catch_up,omitempty" doc:"How old a missed time may be to be made up for. Default 1h" example:"6h"`
	CatchUpAll bool            `json:"catch_up_all,omitempty" doc:"Make up for every missed time. Default: for the newest alone"`
	Until      time.Time       `json:"until,omitzero" doc:"The last moment at which it may fire"`
	Paused     bool            `json:"paused,omitempty" readOnly:"true" doc:"See pause and resume"`
	Note       string          `json:"note,omitempty" readOnly:"true" doc:"What the caller should know, as of a time that comes twice on that day"`
	Next       []time.Time     `json:"next,omitempty" nullable:"false" readOnly:"true" doc:"The next five times"`
	Waiting    []time.Time     `json:"waiting,omitempty" nullable:"false" readOnly:"true" doc:"Times that have come and wait for the one before to end, or to be backfilled"`
	History    []ScheduledFire `json:"history,omitempty" nullable:"false" readOnly:"true" doc:"The newest first"`
	CreatedAt  time.Time       `json:"created_at,omitzero" readOnly:"true"`
	ChangedAt  time.Time       `json:"changed_at,omitzero" readOnly:"true"`
}

// ScheduledFire is what a schedule did at one of its times.
type ScheduledFire struct {
	Slot       time.Time `json:"slot"`
	Until      time.Time `json:"until,omitzero" doc:"missed: all times from slot up to this"`
	At         time.Time `json:"at"`
	Result     string    `json:"result" enum:"fired,retrying,failed,skipped,missed"`
	Origin     string    `json:"origin" enum:"live,waited,backfill"`
	BulkAction string    `json:"bulk_action,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Tries      int       `json:"tries,omitempty"`
}

// ScheduleTimes is when a schedule fires.
type ScheduleTimes struct {
	Times []time.Time `json:"times" nullable:"false"`
}

// Backfill makes up for times that have passed.
type Backfill struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty" maxLength:"256"`
}

// Webhook is an endpoint that is told of events.
type Webhook struct {
	ID        string    `json:"id,omitempty" readOnly:"true"`
	Tenant    string    `json:"tenant,omitempty" maxLength:"128" doc:"Whose events it gets. Default: those of the key's only tenant, else of all"`
	URL       string    `json:"url" maxLength:"2048"`
	Events    []string  `json:"events,omitempty" nullable:"false" doc:"Default: all" example:"[\"bulk_action.completed\"]"`
	Note      string    `json:"note,omitempty" maxLength:"200" doc:"For people"`
	Secret    string    `json:"secret,omitempty" maxLength:"512" doc:"whsec_ and base64, or whsk_ for ed25519; made up if left out, and shown in the first answer to its creation only. Changed by rotate"`
	PublicKey string    `json:"public_key,omitempty" readOnly:"true" doc:"Checks ed25519 signatures"`
	Disabled  bool      `json:"disabled,omitempty"`
	Reason    string    `json:"reason,omitempty" readOnly:"true" doc:"Why it was disabled"`
	Created   time.Time `json:"created_at,omitzero" readOnly:"true"`
	LeftOut   string    `json:"left_out,omitempty" readOnly:"true" doc:"In a repeated answer: what is not there any more"`
	Provenance
	File *Webhook `json:"file,omitempty" readOnly:"true" doc:"What the configuration file says, where a change over the API came after it. Delete goes back to it"`
}

// Rotate gives a webhook another secret.
type Rotate struct {
	Secret string   `json:"secret,omitempty" maxLength:"512" doc:"Made up if left out"`
	Keep   Duration `json:"keep,omitempty" doc:"How long the secret before signs along. Default 24h"`
	Reason string   `json:"reason,omitempty" maxLength:"256"`
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID         string            `json:"id"`
	Event      string            `json:"event"`
	Type       string            `json:"type"`
	Webhook    string            `json:"webhook,omitempty"`
	BulkAction string            `json:"bulk_action,omitempty"`
	Tenant     string            `json:"tenant,omitempty"`
	URL        string            `json:"url,omitempty"`
	Kind       string            `json:"kind" enum:"http,kafka"`
	State      string            `json:"state" enum:"waiting,delivered,failed,cancelled"`
	Next       time.Time         `json:"next_attempt_at,omitzero"`
	CreatedAt  time.Time         `json:"created_at"`
	Attempts   []DeliveryAttempt `json:"attempts" nullable:"false"`
}

// DeliveryAttempt is one try.
type DeliveryAttempt struct {
	At     time.Time `json:"at"`
	Took   Duration  `json:"took"`
	Status int       `json:"status,omitempty"`
	Code   string    `json:"code,omitempty" doc:"Why it failed; empty if it did not"`
	Error  string    `json:"error,omitempty"`
	Answer string    `json:"answer,omitempty" doc:"How the endpoint's answer begins"`
}

// Key is an API key. Its text is shown once, in the answer to its creation.
type Key struct {
	ID        string    `json:"id,omitempty" readOnly:"true"`
	Name      string    `json:"name" maxLength:"128"`
	Scopes    []string  `json:"scopes" nullable:"false" minItems:"1" maxItems:"5" enum:"read,submit,control,approve,admin"`
	Tenants   []string  `json:"tenants,omitempty" nullable:"false" maxItems:"1000" doc:"Whose things it sees. Default: those of all, or as the key that makes it"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used_at,omitzero" readOnly:"true" doc:"Right to a minute"`
	CreatedAt time.Time `json:"created_at,omitzero" readOnly:"true"`
	CreatedBy string    `json:"created_by,omitempty" readOnly:"true" doc:"The key that made it"`
	RevokedAt time.Time `json:"revoked_at,omitzero" readOnly:"true"`
	Key       string    `json:"key,omitempty" readOnly:"true" doc:"What callers send: in the first answer to its creation only"`
	LeftOut   string    `json:"left_out,omitempty" readOnly:"true" doc:"In a repeated answer: what is not there any more"`
}

// Whoami is what the server takes a caller for.
type Whoami struct {
	Key     string   `json:"key" doc:"The key's id"`
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes" nullable:"false"`
	Tenants []string `json:"tenants,omitempty" nullable:"false" doc:"Whose things it sees; none: those of all"`
}

// AuditEntry is one change: who, what, when, from where.
type AuditEntry struct {
	ID        string          `json:"id"`
	At        time.Time       `json:"at"`
	Key       string          `json:"key,omitempty"`
	Actor     string          `json:"actor"`
	From      string          `json:"from,omitempty"`
	Action    string          `json:"action" example:"bulk_action.cancel"`
	Target    string          `json:"target,omitempty"`
	Tenant    string          `json:"tenant,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
}
