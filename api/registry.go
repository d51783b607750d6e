package api

import (
	"encoding/json"
	"time"
)

// Action is an action that bulk actions can run over items.
type Action struct {
	Name     string            `json:"name,omitempty" doc:"As in the path"`
	Kind     string            `json:"kind,omitempty" enum:"http,go,demo" readOnly:"true"`
	URL      string            `json:"url,omitempty" maxLength:"2048" doc:"Receives a POST per batch" example:"https://push.example.com/batch"`
	UndoURL  string            `json:"undo_url,omitempty" maxLength:"2048" doc:"Receives the items to undo, like url. The data of an item is {\"data\": …, \"output\": …}: the input and the output of the action"`
	Header   map[string]string `json:"header,omitempty" doc:"Sent with every call; values are never shown again"`
	Secret   string            `json:"secret,omitempty" doc:"Signs calls as defined by Standard Webhooks; never shown again"`
	Batch    int               `json:"batch,omitempty" minimum:"0" maximum:"1000" doc:"Maximum items per call. Default 100. If the resource has a rate, calls have fewer items: see its pacing"`
	Timeout  Duration          `json:"timeout,omitempty" doc:"Default 30s"`
	Retry    *Retry            `json:"retry,omitempty"`
	Resource string            `json:"resource,omitempty" doc:"The resource that it uses. Default: a resource with the name of the action"`
	Schema   json.RawMessage   `json:"schema,omitempty" doc:"JSON schema that items must match"`
	Tenants  []string          `json:"tenants,omitempty" nullable:"false" doc:"Tenants that may use it. Default: all"`
	Disabled bool              `json:"disabled,omitempty" doc:"New bulk actions cannot use it. Existing bulk actions continue: pause or cancel them to end the calls"`
	Undo     bool              `json:"undo,omitempty" readOnly:"true" doc:"Whether it can be undone"`
	Provenance
	File *Action `json:"file,omitempty" readOnly:"true" doc:"The value in the configuration file, if it was changed over the API. Delete restores it"`
}

// Provenance records the origin of a setting, who set it, and when. Changes made
// over the API survive restarts; without such a change the file applies.
type Provenance struct {
	Origin    string    `json:"origin,omitempty" enum:"api,file,program,default" readOnly:"true" doc:"Origin: a change over the API, the configuration file, the program, or the default"`
	ChangedAt time.Time `json:"changed_at,omitzero" readOnly:"true" doc:"When it was changed, or read from the file"`
	ChangedBy string    `json:"changed_by,omitempty" readOnly:"true" doc:"The API key that changed it, or the node that read the file"`
}

// Retry says when and how often a failed item is retried.
type Retry struct {
	MaxAttempts int      `json:"max_attempts,omitempty" minimum:"0" maximum:"250" doc:"Default 5"`
	Base        Duration `json:"base,omitempty" doc:"The delay after the first failure. Default 1s"`
	Cap         Duration `json:"cap,omitempty" doc:"The longest delay. Default 5m"`
}

// ActionTest sends a test batch to an action.
type ActionTest struct {
	Items  []Item `json:"items" nullable:"false" minItems:"1" maxItems:"20"`
	DryRun *bool  `json:"dry_run,omitempty" doc:"Default true"`
}

// Resource is a downstream system with limits.
type Resource struct {
	Name        string  `json:"name,omitempty"`
	Rate        *Rate   `json:"rate,omitempty" doc:"Maximum items per second, over all nodes" example:"450/s"`
	Concurrency *int    `json:"concurrency,omitempty" minimum:"0" maximum:"1000000" doc:"Maximum concurrent tasks, over all nodes; 0: no limit"`
	Pacing      *string `json:"pacing,omitempty" enum:"smooth,full" doc:"smooth: an even stream, a twentieth of a second's worth of items in a call. full: few calls, full batches of up to half a second's worth. Default smooth"`
}

// ResourceStatus is a resource and its use.
type ResourceStatus struct {
	Name        string  `json:"name"`
	Rate        Rate    `json:"rate"`
	Concurrency int     `json:"concurrency"`
	Pacing      string  `json:"pacing" enum:"smooth,full" doc:"smooth: an even stream. full: few calls"`
	Allowed     float64 `json:"allowed,omitempty" doc:"Items per second that flow control allows now, if below the rate"`
	Bearable    int     `json:"bearable,omitempty" doc:"Concurrent tasks that the resource was found to sustain"`
	Use         float64 `json:"use" doc:"Used fraction of the allowed rate"`
	InFlight    int     `json:"in_flight"`
	Ready       int64   `json:"ready" doc:"Items that wait for it"`
	Circuit     string  `json:"circuit" enum:"closed,open,half_open"`
	Outage      *Outage `json:"outage,omitempty" doc:"Since when and why the circuit is not closed"`
	Reason      string  `json:"reason,omitempty"`
	Provenance
	File        *Resource `json:"file,omitempty" doc:"The value in the configuration file, if it was changed over the API. Delete restores it"`
	EffectiveAt time.Time `json:"effective_at,omitzero" doc:"In the response to a change: when all nodes apply it"`
	Note        string    `json:"note,omitempty" doc:"In the response to a change: says that no action uses the resource, and suggests a name"`
}

// Outage says since when and why a circuit is not closed. If nodes differ, it is about the circuit that opened first.
type Outage struct {
	Since     time.Time `json:"since" doc:"When the circuit opened"`
	Failed    int       `json:"failed" doc:"Failed calls, of those counted when it opened; 0 if it was opened by hand"`
	Calls     int       `json:"calls" doc:"Calls counted when it opened"`
	Code      string    `json:"code,omitempty" doc:"Error code of the last call that failed" example:"http_5xx"`
	Probes    int       `json:"probes" doc:"How often probe calls failed since"`
	NextProbe time.Time `json:"next_probe_at,omitzero" doc:"When the next call tests the service; in the past: with the next call"`
	ByHand    bool      `json:"by_hand,omitempty" doc:"It was opened by hand"`
	Until     time.Time `json:"until,omitzero" doc:"When an opening by hand ends"`
	Nodes     int       `json:"nodes" doc:"Nodes at which the circuit is not closed"`
}

// CircuitChange opens, closes or probes a circuit by hand.
type CircuitChange struct {
	Do     string   `json:"do" enum:"open,close,free,probe" doc:"free: the circuit follows failures again. probe: one call per node tests an open circuit now"`
	For    Duration `json:"for,omitempty" doc:"Default 10m"`
	Reason string   `json:"reason,omitempty" maxLength:"256"`
}

// Tenant holds the weight and the limits of a tenant.
type Tenant struct {
	Name       string  `json:"name,omitempty"`
	Weight     float64 `json:"weight,omitempty" minimum:"0.001" maximum:"1000" doc:"Share relative to other tenants; 2 gets twice as much as 1. Default 1"`
	MaxTasks   int     `json:"max_tasks,omitempty" minimum:"0" maximum:"1000000" doc:"Maximum tasks in flight on a node; 0: no limit"`
	MaxPending int64   `json:"max_pending,omitempty" minimum:"0" doc:"Maximum items accepted and not ended; 0: no limit"`
	Paused     bool    `json:"paused,omitempty" doc:"Start no tasks of the tenant"`
	Provenance
	File *Tenant `json:"file,omitempty" readOnly:"true" doc:"The value in the configuration file, if it was changed over the API. Delete restores it"`
}

// Connection is a named connection to a database, an object store, a broker or an HTTP server.
type Connection struct {
	Name    string            `json:"name,omitempty"`
	Kind    string            `json:"kind" enum:"postgres,s3,kafka,http"`
	URL     string            `json:"url,omitempty" maxLength:"2048" doc:"Its address, without secrets: a URL for http and s3, host:port for postgres, and host:port,host:port for kafka" example:"db.example.com:5432"`
	Tenants []string          `json:"tenants,omitempty" nullable:"false" doc:"Tenants that may use it. Default: all"`
	Secret  map[string]string `json:"secret,omitempty" doc:"Passwords and keys by name; never shown again"`
	Option  map[string]string `json:"option,omitempty"`
	Provenance
	File *Connection `json:"file,omitempty" readOnly:"true" doc:"The value in the configuration file, if it was changed over the API. Delete restores it"`
}

// ConnectionTest tests a connection.
type ConnectionTest struct {
	Source *Source `json:"source,omitempty" doc:"A source to read from it. Default: only connect"`
}

// ConnectionResult is the result of a connection test.
type ConnectionResult struct {
	OK     bool     `json:"ok"`
	Took   Duration `json:"took"`
	Detail string   `json:"detail,omitempty" doc:"What happened"`
	Code   string   `json:"code,omitempty" doc:"Why it failed"`
	Items  []Item   `json:"items,omitempty" nullable:"false" doc:"The first items, if a source was given"`
}

// Source says where to read the items of a bulk action from when it starts. One member is set.
type Source struct {
	Segment  *SegmentSource  `json:"segment,omitempty"`
	Postgres *PostgresSource `json:"postgres,omitempty"`
	Object   *ObjectSource   `json:"object,omitempty"`
	Kafka    *KafkaSource    `json:"kafka,omitempty"`
	PageSize int             `json:"page_size,omitempty" minimum:"0" maximum:"10000" doc:"Items per page. Default 1000"`
	Timeout  Duration        `json:"timeout,omitempty" doc:"Timeout of one page. Default 30s"`
	Upload   string          `json:"upload,omitempty" doc:"Id of a complete upload" example:"upl_01k9x2v6w4s8m1c7q3d5f9h0jz"`
	Added    []string        `json:"added,omitempty" nullable:"false" maxItems:"20" doc:"Ids of more uploads, whose rows follow those of upload. A bad row is not counted if a later upload corrects it: has its id, or names its line in the column weir_line, as a corrected list of bad rows does"`
}

// SegmentSource is a list behind a URL, page by page.
type SegmentSource struct {
	Connection  string          `json:"connection,omitempty"`
	URL         string          `json:"url" maxLength:"2048"`
	Method      string          `json:"method,omitempty" enum:"GET,POST" doc:"GET sends page size and cursor in the query, POST in a JSON body. Default GET"`
	Body        json.RawMessage `json:"body,omitempty" doc:"A JSON object whose members are added to the body of a POST"`
	LimitParam  string          `json:"limit_param,omitempty" doc:"Default limit"`
	CursorParam string          `json:"cursor_param,omitempty" doc:"Default cursor"`
}

// PostgresSource is a query.
type PostgresSource struct {
	Connection string `json:"connection"`
	Query      string `json:"query" doc:"One SELECT"`
	Key        string `json:"key" doc:"A unique column with an order: reading continues after its last value"`
}

// ObjectSource is an object in S3 or a compatible store.
type ObjectSource struct {
	Connection string `json:"connection"`
	Bucket     string `json:"bucket"`
	Key        string `json:"key"`
	Format     string `json:"format,omitempty" enum:"csv,ndjson,json" doc:"Default: by its name"`
}

// KafkaSource is a topic, read up to the end that it had when reading started.
type KafkaSource struct {
	Connection string     `json:"connection"`
	Topic      string     `json:"topic"`
	Since      *time.Time `json:"since,omitempty" doc:"Default: its beginning"`
	IDFromKey  bool       `json:"id_from_key,omitempty" doc:"The record's key is the item's id"`
}

// Schedule creates bulk actions at set times.
type Schedule struct {
	ID         string          `json:"id,omitempty" readOnly:"true"`
	Name       string          `json:"name" maxLength:"128"`
	Tenant     string          `json:"tenant,omitempty"`
	Cron       string          `json:"cron,omitempty" maxLength:"256" doc:"Five fields: minute, hour, day, month, weekday" example:"0 9 * * 1"`
	Zone       string          `json:"zone,omitempty" maxLength:"64" example:"Asia/Tokyo" doc:"IANA zone of cron or at. Default UTC"`
	At         string          `json:"at,omitempty" maxLength:"64" doc:"Once, instead of cron: RFC 3339, or a local time together with zone" example:"2026-12-24T00:00"`
	BulkAction NewBulkAction   `json:"bulk_action" doc:"The bulk action to create each time; its items come from a source"`
	Overlap    string          `json:"overlap,omitempty" enum:"skip,queue,allow" doc:"What to do while the previous bulk action has not ended. Default skip"`
	CatchUp    Duration        `json:"catch_up,omitempty" doc:"How old a missed time may be to be caught up. Default 1h" example:"6h"`
	CatchUpAll bool            `json:"catch_up_all,omitempty" doc:"Catch up every missed time. Default: only the newest"`
	Until      time.Time       `json:"until,omitzero" doc:"The last time at which it may fire"`
	Paused     bool            `json:"paused,omitempty" readOnly:"true" doc:"Changed by pause and resume"`
	Note       string          `json:"note,omitempty" readOnly:"true" doc:"A note for the caller, for example about a local time that occurs twice on that day"`
	Next       []time.Time     `json:"next,omitempty" nullable:"false" readOnly:"true" doc:"The next five times"`
	Waiting    []time.Time     `json:"waiting,omitempty" nullable:"false" readOnly:"true" doc:"Times that have come and wait: for the previous bulk action to end, or for a backfill"`
	History    []ScheduledFire `json:"history,omitempty" nullable:"false" readOnly:"true" doc:"The newest first"`
	CreatedAt  time.Time       `json:"created_at,omitzero" readOnly:"true"`
	ChangedAt  time.Time       `json:"changed_at,omitzero" readOnly:"true"`
}

// ScheduledFire is the result of a schedule at one of its times.
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

// ScheduleTimes holds the times at which a schedule fires.
type ScheduleTimes struct {
	Times []time.Time `json:"times" nullable:"false"`
}

// Backfill creates the bulk actions of past times.
type Backfill struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason,omitempty" maxLength:"256"`
}

// Webhook is an endpoint that receives events.
type Webhook struct {
	ID        string    `json:"id,omitempty" readOnly:"true"`
	Tenant    string    `json:"tenant,omitempty" maxLength:"128" doc:"The tenant whose events it receives. Default: the key's only tenant, else all tenants"`
	URL       string    `json:"url" maxLength:"2048"`
	Events    []string  `json:"events,omitempty" nullable:"false" doc:"Default: all" example:"[\"bulk_action.completed\"]"`
	Note      string    `json:"note,omitempty" maxLength:"200" doc:"For people"`
	Secret    string    `json:"secret,omitempty" maxLength:"512" doc:"whsec_ and base64, or whsk_ for ed25519; generated if omitted, and shown only in the first response to its creation. Changed by rotate"`
	PublicKey string    `json:"public_key,omitempty" readOnly:"true" doc:"Public key to verify ed25519 signatures"`
	Disabled  bool      `json:"disabled,omitempty"`
	Reason    string    `json:"reason,omitempty" readOnly:"true" doc:"Why it was disabled"`
	Created   time.Time `json:"created_at,omitzero" readOnly:"true"`
	LeftOut   string    `json:"left_out,omitempty" readOnly:"true" doc:"In the response to a repeat: what is left out"`
	Provenance
	File *Webhook `json:"file,omitempty" readOnly:"true" doc:"The value in the configuration file, if it was changed over the API. Delete restores it"`
}

// Rotate gives a webhook a new secret.
type Rotate struct {
	Secret string    `json:"secret,omitempty" maxLength:"512" doc:"Generated if omitted"`
	Keep   *Duration `json:"keep,omitempty" doc:"How long events are also signed with the previous secret; 0s: not at all. Default 24h"`
	Reason string    `json:"reason,omitempty" maxLength:"256"`
}

// Delivery is the delivery of one event to one endpoint.
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

// DeliveryAttempt is one attempt of a delivery.
type DeliveryAttempt struct {
	At     time.Time `json:"at"`
	Took   Duration  `json:"took"`
	Status int       `json:"status,omitempty"`
	Code   string    `json:"code,omitempty" doc:"Why it failed; empty if it succeeded"`
	Error  string    `json:"error,omitempty"`
	Answer string    `json:"answer,omitempty" doc:"The beginning of the endpoint's response"`
}

// Key is an API key. Its text is shown once, in the response to its creation.
type Key struct {
	ID        string    `json:"id,omitempty" readOnly:"true"`
	Name      string    `json:"name" maxLength:"128"`
	Scopes    []string  `json:"scopes" nullable:"false" minItems:"1" maxItems:"5" enum:"read,submit,control,approve,admin"`
	Tenants   []string  `json:"tenants,omitempty" nullable:"false" maxItems:"1000" doc:"Tenants that the key may access. Default: those of the key that creates it"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	LastUsed  time.Time `json:"last_used_at,omitzero" readOnly:"true" doc:"Accurate to a minute"`
	CreatedAt time.Time `json:"created_at,omitzero" readOnly:"true"`
	CreatedBy string    `json:"created_by,omitempty" readOnly:"true" doc:"The key that created it"`
	RevokedAt time.Time `json:"revoked_at,omitzero" readOnly:"true"`
	Key       string    `json:"key,omitempty" readOnly:"true" doc:"The text of the key, only in the first response to its creation"`
	LeftOut   string    `json:"left_out,omitempty" readOnly:"true" doc:"In the response to a repeat: what is left out"`
}

// Whoami describes the caller's API key.
type Whoami struct {
	Key     string   `json:"key" doc:"Id of the key"`
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes" nullable:"false"`
	Tenants []string `json:"tenants,omitempty" nullable:"false" doc:"Tenants that the key may access; none: all"`
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
