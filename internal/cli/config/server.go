package config

import (
	"time"

	"github.com/weirhq/weir/internal/service/vault"
)

// Server is everything that can be set about weir serve. [Load] reads it, and
// each value remembers where it came from: see [Server.Values].
type Server struct {
	Listen      Address `yaml:"listen"       heading:"Where" help:"address of the API, as host:port"`
	AdminListen Address `yaml:"admin_listen" help:"address of the operator routes; may be the same as listen (default: the same as listen if only this machine can reach it, else 127.0.0.1:8081)"`
	Prefix      string  `yaml:"prefix"       help:"path under which clients reach the server, as in /bulk, if a proxy serves it there; requests may come with it or without"`
	Data        string  `yaml:"data"         path:"yes" help:"directory for the embedded store, uploads and other local state"`

	Redis                     []string   `yaml:"redis"               heading:"Redis" help:"URLs of Redis or Valkey servers, as in redis://host:6379, instead of the embedded store: one server, some nodes of a cluster, or all Sentinels with ?primary=NAME; with redis_spread, several servers"`
	RedisSpread               bool       `yaml:"redis_spread"        help:"the URLs in redis are unrelated servers, over which the partitions are spread; URLs with the same ?primary=NAME are one. Keep their number and order as long as there is work"`
	RedisPasswordFile         string     `yaml:"redis_password_file" path:"yes" secret:"RedisPassword" help:"file with the password for Redis"`
	RedisSentinelUser         string     `yaml:"redis_sentinel_user" help:"user for the Sentinels (default: their default user)"`
	RedisSentinelPasswordFile string     `yaml:"redis_sentinel_password_file" path:"yes" secret:"RedisSentinelPassword" help:"file with the password for the Sentinels"`
	RedisReplicas             int        `yaml:"redis_replicas"      help:"number of replicas of each Redis primary, for durability replicated"`
	RedisTLS                  ClientTLS  `yaml:"redis_tls"`
	Stage                     string     `yaml:"stage"               help:"name of the environment; separates environments on the same Redis"`
	Durability                Durability `yaml:"durability"          help:"what an accepted item survives: disk (loss of power), memory (a crash of the store can lose the last second), or replicated (loss of any one machine; Redis only)"`

	Role       Role     `yaml:"role"       heading:"Work" help:"all, api (takes requests) or worker (runs tasks); api and worker require Redis"`
	Partitions int      `yaml:"partitions" help:"independent queues for new work, over all nodes; after a decrease, the other queues only finish the work they hold (default: the number in the store; 64 in a new store)"`
	Slots      int      `yaml:"slots"      help:"maximum concurrent tasks on this node; tenants below their share may use one eighth more; up to the same number of hanging calls is not counted"`
	Workers    int      `yaml:"workers"    help:"initial workers (concurrent tasks) of a lane, before its load is known"`
	Lease      Duration `yaml:"lease"      help:"how long a node that does not respond keeps its partitions"`
	Drain      Duration `yaml:"drain"      help:"how long running tasks and requests may take after a signal to stop"`
	Retention  Age      `yaml:"retention"  help:"how long ended bulk actions are kept, as in 30d"`

	TLS                   TLS          `yaml:"tls"            heading:"Security"`
	AllowedHosts          []string     `yaml:"allowed_hosts"  help:"host names that requests may use besides localhost, as in weir.example.com or *.example.com; * allows every name (default: every name if other machines can reach the server, else none)"`
	AllowedOrigins        []string     `yaml:"allowed_origins" help:"origins of web pages whose scripts may use the API with a key, as in https://app.example.com"`
	VaultKeyFile          string       `yaml:"vault_key_file" path:"yes" secret:"VaultKey" help:"file with the keys that encrypt secrets in the store (default without Redis: a key is generated and kept in the data directory)"`
	VaultTransit          VaultTransit `yaml:"vault_transit"`
	AdminKeyFile          string       `yaml:"admin_key_file" path:"yes" secret:"AdminKey" help:"file with an API key of full access, for creating other keys"`
	UIReadOnly            bool         `yaml:"ui_read_only"   help:"the pages show everything and change nothing; the API is not concerned"`
	Egress                Egress       `yaml:"egress"`
	Limits                Limits       `yaml:"limits"         heading:"Limits"`
	Log                   Log          `yaml:"log"            heading:"Log"`
	Traces                Traces       `yaml:"traces"         heading:"Traces"`
	VaultKey              vault.Secret `yaml:"-"`
	AdminKey              vault.Secret `yaml:"-"`
	RedisPassword         vault.Secret `yaml:"-"`
	RedisSentinelPassword vault.Secret `yaml:"-"`

	// In the file alone:

	Actions     map[string]Step       `yaml:"actions"     help:"HTTP actions, by name"`
	Resources   map[string]Resource   `yaml:"resources"   help:"limits of downstream systems, by name, over all nodes"`
	Tenants     map[string]Tenant     `yaml:"tenants"     help:"shares and limits of tenants, by name"`
	Connections map[string]Connection `yaml:"connections" help:"servers to read items from or to send events to, by name"`
	Webhooks    map[string]Webhook    `yaml:"webhooks"    help:"endpoints that receive events, by name; each has a url, or a topic and a connection"`

	origins map[string]origin
	hasFile bool
}

// HasFile reports whether a configuration file was read.
func (s *Server) HasFile() bool { return s.hasFile }

// TLS holds the TLS settings for clients of the server.
type TLS struct {
	Cert     string `yaml:"cert"      path:"yes" help:"file with the certificate chain, as PEM; reloaded when it changes"`
	Key      string `yaml:"key"       path:"yes" secret:"-" help:"file with the certificate's key"`
	ClientCA string `yaml:"client_ca" path:"yes" help:"file with the CA of client certificates; clients without a valid certificate are refused"`
	Proxy    bool   `yaml:"proxy"     help:"a proxy in front terminates TLS; the server may serve plain HTTP to other machines"`
}

// ClientTLS holds the TLS settings of the server as a client: its certificate and the CA it trusts.
type ClientTLS struct {
	CA   string `yaml:"ca"   path:"yes" help:"file with the CA certificates to trust instead of the system's"`
	Cert string `yaml:"cert" path:"yes" help:"file with the client certificate"`
	Key  string `yaml:"key"  path:"yes" secret:"-" help:"file with the key of the client certificate"`
}

// Egress lists the addresses that outgoing calls may use besides public ones.
type Egress struct {
	Allow []string `yaml:"allow" help:"private addresses that actions, sources and webhooks may call, as in 10.0.0.0/8 or 192.168.1.5:8443; loopback is this machine"`
}

// Limits bounds what one request, key or tenant may take, and what may be taken of the disk.
type Limits struct {
	Body              Size `yaml:"body"                help:"maximum size of a JSON request"`
	Memory            Size `yaml:"memory"              help:"maximum memory of concurrent JSON requests, decoded values included; further requests wait or get 503"`
	Upload            Size `yaml:"upload"              help:"maximum size of an upload or of a body with items"`
	ItemCount         int  `yaml:"item_count"          help:"maximum items per bulk action"`
	PendingItems      int  `yaml:"pending_items"       help:"maximum items accepted and not ended, over all tenants"`
	RequestsPerSecond int  `yaml:"requests_per_second" help:"maximum requests per second and API key"`
	Uploads           int  `yaml:"uploads"             help:"maximum concurrent uploads per API key"`
	Streams           int  `yaml:"streams"             help:"maximum concurrent event streams per API key; a node keeps 32 times as many pages live"`
	Exports           int  `yaml:"exports"             help:"maximum concurrent reports, exports and searches"`
	MinFree           Size `yaml:"min_free"            help:"free disk space of the embedded store below which new work is refused; default: a tenth of the disk, or 2GiB if that is less"`
}

// Log holds the level and the format of the log.
type Log struct {
	Format LogFormat `yaml:"format" help:"json, text, or auto: text on a terminal"`
	Level  LogLevel  `yaml:"level"  help:"debug, info, warn or error"`
}

// Traces says where spans are sent, and of which bulk actions.
type Traces struct {
	Endpoint string `yaml:"endpoint" help:"URL at which an OpenTelemetry collector takes traces (OTLP over HTTP), as in http://localhost:4318/v1/traces (default: no traces)"`
	Sample   Part   `yaml:"sample"   help:"part of the bulk actions without a traceparent that is traced, from 0 to 1; those with one follow it"`

	// From OTEL_ variables alone:

	Header       map[string]string `yaml:"-"`
	Resource     map[string]string `yaml:"-"`
	Sampler, Arg string            `yaml:"-"` // where Sample is not set
}

// Tenant holds the weight and the limits of a tenant.
type Tenant struct {
	Weight     Weight `yaml:"weight" help:"share relative to other tenants (default 1)"`
	MaxTasks   int    `yaml:"max_tasks" help:"maximum tasks in flight on a node"`
	MaxPending int    `yaml:"max_pending" help:"maximum items accepted and not ended"`
}

// Connection is a server from which items are read or to which events go, with
// what it takes to be let in.
type Connection struct {
	Kind string `yaml:"kind" help:"http, postgres, s3 or kafka"` // http, postgres, s3 or kafka
	// Address is a URL for http and s3, host:port for postgres, and host:port,host:port for kafka.
	Address string `yaml:"address" help:"a URL for http and s3, host:port for postgres, host:port,host:port for kafka"`
	// Tenants may use it. None: all.
	Tenants []string `yaml:"tenants" help:"tenants that may use it (default: all)"`

	User         string `yaml:"user" help:"user of postgres and kafka; access key of s3"`                                                                              // postgres, kafka; for s3 the access key
	PasswordFile string `yaml:"password_file" path:"yes" secret:"Password" help:"file with the password of postgres and kafka, or the secret key of s3"`               // postgres, kafka; for s3 the secret key
	TokenFile    string `yaml:"token_file"    path:"yes" secret:"Token" help:"file with the session token of s3, or the bearer token of http"`                         // s3: session token; http: bearer token
	SigningFile  string `yaml:"signing_file"  path:"yes" secret:"SigningSecret" help:"http: file with the secret that signs requests as defined by Standard Webhooks"` // http: as Standard Webhooks

	Header     map[string]string `yaml:"header"      plain:"header_file" help:"http: headers to send, by name; those with credentials belong in header_file"`
	HeaderFile map[string]string `yaml:"header_file" path:"yes" secret:"-" help:"http: headers whose values are in files"`

	Database string    `yaml:"database" help:"postgres: name of the database"`                                 // postgres
	Region   string    `yaml:"region" help:"s3: name of the region"`                                           // s3
	SASL     string    `yaml:"sasl" help:"kafka: plain, scram-sha-256 or scram-sha-512 (default: no sign-in)"` // kafka: plain, scram-sha-256 or scram-sha-512
	Plain    bool      `yaml:"plain" help:"true: without TLS, for postgres and kafka"`                         // without TLS, for postgres and kafka
	TLS      ClientTLS `yaml:"tls" help:"TLS settings of the connection"`

	Password      vault.Secret `yaml:"-"`
	Token         vault.Secret `yaml:"-"`
	SigningSecret vault.Secret `yaml:"-"`
}

// Webhook is an endpoint or a topic that receives events.
type Webhook struct {
	URL string `yaml:"url" help:"URL that receives the events"`
	// Topic is a Kafka topic instead of a URL, and Connection the one of kind kafka that leads there.
	Topic      string       `yaml:"topic" help:"a Kafka topic instead of a URL"`
	Connection string       `yaml:"connection" help:"name of the connection of kind kafka that leads to the topic"`
	Tenant     string       `yaml:"tenant" help:"the tenant whose events are sent (default: all tenants)"` // none: of all tenants
	Events     []string     `yaml:"events" help:"which events (default: all)"`                             // none: all
	SecretFile string       `yaml:"secret_file" path:"yes" secret:"Secret" help:"file with the secret that signs the events; not with a topic"`
	Secret     vault.Secret `yaml:"-"`
}

// defaults are the settings of a server about which nothing was said.
func defaults() *Server {
	return &Server{
		Listen: "127.0.0.1:8080", Data: ".weir", Stage: "prod", Durability: DurableDisk, Role: RoleAll,
		Slots: 64, Workers: 16, Lease: Duration(10 * time.Second), Drain: Duration(30 * time.Second), Retention: Age(30 * day),
		Limits: Limits{
			Body: 8 << 20, Memory: 256 << 20, Upload: 16 << 30, ItemCount: 100_000_000, PendingItems: 100_000_000,
			RequestsPerSecond: 200, Uploads: 8, Streams: 32, Exports: 4,
		},
		Log: Log{Format: LogAuto, Level: "info"}, Traces: Traces{Sample: 1},
		origins: map[string]origin{},
	}
}
