package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/schedule"
	"github.com/weirhq/weir/store"
)

// Options configures [New]. Service, Keys and Audit have to be set.
type Options struct {
	Service   *service.Service
	Keys      *access.Keys
	Audit     *access.Audit
	Schedules *schedule.Keeper
	Webhooks  *callback.Notifier
	// Open allows requests without a key that come in on a loopback address.
	Open bool
	// Authenticate returns the caller of a request, instead of an API key; see [SignInError]. Default: API keys.
	Authenticate func(*http.Request) (access.Principal, error)
	// Prefix is the path under which clients reach the server, as in "/bulk". Default: none.
	Prefix string
	// Hosts are names of the server that requests may be sent to, besides those of loopback: "weir.example.com",
	// "*.example.com" for the names below, "*" for every name. See docs/security.md for the default.
	Hosts []string
	// Origins are those of pages whose scripts may use the API, as in "https://app.example.com"; see [mount.BadOrigin].
	Origins []string
	// Version is the version of the program.
	Version string
	// MaxBody is the most bytes of a JSON body. Default 32 MiB.
	MaxBody int64
	// Memory is the most bytes that JSON bodies take at once, with what is decoded of them. Default 256 MiB.
	Memory int64
	// MaxUpload is the most bytes of a body with items, unpacked. Default 16 GiB.
	MaxUpload int64
	// SlowBody limits how long a body with items may arrive at less than a kilobyte a second. Default 30s.
	SlowBody time.Duration
	// Metrics is the source of /metrics. Default: no metrics.
	Metrics *prometheus.Registry
	// Limits bounds what one key may ask for. Default: nothing does.
	Limits *access.Limits
	// Exports limits the concurrent requests that read much, and Streams the event streams that a key may
	// have; 32 times as many pages may be live. Default: as many as there are.
	Exports, Streams int
	// Name is the unique name of this process among all that use the store. Default: a random name.
	Name string
	// Alive reports whether the process of a name is still a member. Default: no other process answers from this
	// store, so those of other names have ended.
	Alive func(ctx context.Context, name string) (bool, error)
	// LogRequests logs every request.
	LogRequests bool
	// Store keeps responses for repeats.
	Store records.Keeper
	// Sealer seals tickets.
	Sealer Sealer
	// Backup is the store that GET /v1/backup copies. Default: it copies none.
	Backup store.Portable
	// Logger takes the log. Default [slog.Default].
	Logger *slog.Logger
}

// Server answers HTTP requests.
type Server struct {
	opts   Options
	svc    *service.Service
	log    *slog.Logger
	mux    *http.ServeMux
	api    huma.API
	routes map[string]*route // by pattern
	stop   chan struct{}     // closed when the server drains: streams end
	once   sync.Once
	heads  *metrics
	// answers are those of requests with an Idempotency-Key, for repeats.
	answers *answersTable
	memory  *memory                     // of JSON bodies
	exports slots                       // of requests that read much
	streams slots                       // of events, by key
	callers callers                     // of event streams
	viewers viewers                     // of pages that are live
	sites   *http.CrossOriginProtection // refuses what browsers send from elsewhere
	working claims                      // requests with an Idempotency-Key that this process works on
}

// New makes a server.
func New(o Options) *Server {
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.MaxUpload == 0 {
		o.MaxUpload = 16 << 30
	}
	if o.SlowBody == 0 {
		o.SlowBody = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Name = cmp.Or(o.Name, rand.Text())
	useProblems()
	s := &Server{
		opts: o, svc: o.Service, log: o.Logger, mux: http.NewServeMux(), routes: map[string]*route{}, stop: make(chan struct{}),
		memory: newMemory(o.Memory, o.MaxBody), exports: slots{most: o.Exports}, streams: slots{most: o.Streams}, viewers: viewers{most: livePages * o.Streams},
		sites: http.NewCrossOriginProtection(),
	}
	s.heads = newMetrics(o.Metrics, o.Version)
	s.answers = records.New[remembered](o.Store, "answer")
	s.api = humago.New(s.mux, s.config())
	s.bulkRoutes()
	s.appendRoutes()
	s.actionRoutes()
	s.resourceRoutes()
	s.tenantRoutes()
	s.fleetRoutes()
	s.seriesRoutes()
	s.connectionRoutes()
	s.templateRoutes()
	s.healthRoutes()
	s.keyRoutes()
	s.auditRoutes()
	s.webhookRoutes()
	s.deliveryRoutes()
	s.scheduleRoutes()
	s.beforeRoutes()
	s.draftRoutes()
	s.simulationRoutes()
	s.watchRoutes()
	s.ticketRoutes()
	s.itemRoutes()
	s.resultRoutes()
	s.reportRoutes()
	s.backupRoutes()
	s.retryRoutes()
	s.undoRoutes()
	s.dlqRoutes()
	s.pageRoutes()
	if err := s.uploadRoutes(); err != nil {
		panic(err) // the settings of the protocol are ours
	}
	s.complete()
	s.documentRoutes()
	return s
}

// bearerScheme is the name of the security scheme in the document. Generators make a type of it: no schema has this name.
const bearerScheme = "bearer"

// config returns the configuration of huma. The OpenAPI document is served by [Server.documentRoutes], and our own page
// shows it.
func (s *Server) config() huma.Config {
	c := huma.DefaultConfig("weir", cmp.Or(s.opts.Version, "unknown"))
	c.Info.Description = "Run bulk actions: one request, hundreds to millions of items."
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.CreateHooks = nil // no $schema members in answers
	c.RejectUnknownQueryParameters = true
	c.Info.Contact = &huma.Contact{Name: "weir", URL: projectURL}
	c.Info.License = &huma.License{Name: "Apache 2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"}
	c.Servers = []*huma.Server{{URL: cmp.Or(s.opts.Prefix, "/")}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearerScheme: {Type: "http", Scheme: "bearer", Description: "An API key: wk_…"},
	}
	return c
}

// Handler answers requests, whose paths are without the prefix.
func (s *Server) Handler() http.Handler { return s.withOrigins(s.guarded(s.mux, false)) }

// Public answers requests without the routes of operators: those are as if there were none.
func (s *Server) Public() http.Handler { return s.withOrigins(s.guarded(s.mux, true)) }

// OpenAPI is the document that describes the API.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// Stopping returns a channel that is closed when the server drains.
func (s *Server) Stopping() <-chan struct{} { return s.stop }

// Drain ends streams, so that a shutdown need not wait for them.
func (s *Server) Drain() { s.once.Do(func() { close(s.stop) }) }
