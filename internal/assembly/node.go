// Package assembly assembles a weir server around one engine: the service, access control,
// schedules, callbacks, and the HTTP API.
//
// [Prepare] makes the parts that need no engine, [Prepared.Configure] sets the options of the engine
// to open, and [Prepared.New] makes the node around it. Then Handler answers requests and Run does
// the background work.
package assembly

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/schedule"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"golang.org/x/sync/errgroup"
)

// Options configures [Prepare]. Store, Guard and Vault must be set.
type Options struct {
	Store store.Store
	Guard *egress.Guard
	Vault *vault.Vault
	// Steps are the actions of the program, Actions and Connections those of the configuration.
	Steps       []weir.Step
	Actions     []api.Action
	Connections []api.Connection
	// File holds those settings of the configuration file that can also be changed at run time.
	// Default: no file, and the settings of an earlier one stay.
	File *File
	// Topics receive events.
	Topics []Topic
	// AdminKeys are the keys of the configuration.
	AdminKeys []vault.Secret
	// Alone reports that no other process uses the store: unfinished work of an earlier process
	// is taken up at once.
	Alone bool
	// Runs is for weir run; see [service.Options].
	Runs func(run string) bool
	// Open accepts requests without a key.
	Open bool
	// ReadOnlyPages has the pages show everything and change nothing.
	ReadOnlyPages bool
	// Tour has the pages explain what weir dev shows on them.
	Tour bool
	// Version is the version of the program.
	Version string
	// Server holds the limits of requests; fields that this package fills in are ignored.
	Server server.Options
	// MaxItems is the largest number of items in a bulk action.
	MaxItems int64
	// SeriesEvery is how often the node measures for time series. Default 10s.
	SeriesEvery time.Duration
	// Metrics is the registry of /metrics. Default: none.
	Metrics *prometheus.Registry
	// Tracer takes the spans of the node and of its engine. Default: none are made.
	Tracer weir.Tracer
	// Logger receives the log. Default [slog.Default].
	Logger *slog.Logger
}

// Topic is a Kafka topic that receives events, by a connection of the configuration.
type Topic struct {
	Topic      string
	Connection string
	Tenant     string   // of the events; empty: all tenants
	Events     []string // empty: all
}

// Prepared holds the parts of a node that need no engine. An engine needs them when it opens.
type Prepared struct {
	opts   Options
	base   *service.Base
	keys   *access.Keys
	topics []callback.Topic
}

// Prepare checks the options and returns the parts of a node that need no engine. Calls that the
// engine makes without a context use ctx.
func Prepare(ctx context.Context, o Options) (*Prepared, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	base, err := service.Prepare(ctx, service.Options{
		Store: o.Store, Guard: o.Guard, Vault: o.Vault, Steps: o.Steps, Actions: o.Actions, Connections: o.Connections,
		MaxItems: o.MaxItems, SeriesEvery: o.SeriesEvery,
		Runs: o.Runs, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	p := &Prepared{opts: o, base: base}
	if p.keys, err = access.NewKeys(o.Store, access.Options{Bootstrap: o.AdminKeys}); err != nil {
		return nil, err
	}
	return p, p.findTopics()
}

// Configure sets the options of the node's engine.
func (p *Prepared) Configure(o *engine.Options) {
	if o.Transport == nil {
		o.Transport = p.opts.Guard.Transport(egress.TLSOptions{})
	}
	if p.opts.Metrics != nil {
		o.Metrics = p.opts.Metrics
	}
	if p.opts.Tracer != nil {
		o.Tracer = p.opts.Tracer
	}
}

// Node is a server without listeners.
type Node struct {
	opts      Options
	log       *slog.Logger
	engine    *engine.Engine
	service   *service.Service
	keys      *access.Keys
	audit     *access.Audit
	schedules *schedule.Keeper
	webhooks  *callback.Notifier
	server    *server.Server
	handler   http.Handler
	counts    *counts
	survey    *survey
}

// New returns a node around an engine that does not run yet.
func (p *Prepared) New(e *engine.Engine) (*Node, error) {
	o := p.opts
	n := &Node{opts: o, log: o.Logger, engine: e, keys: p.keys, audit: access.NewAudit(o.Store), counts: newCounts(o.Metrics)}
	var err error
	if n.service, err = service.New(p.base, e, n.note); err != nil {
		return nil, err
	}
	n.webhooks, err = callback.New(callback.Options{
		Store: o.Store, Topics: p.topics, Transport: o.Guard.Transport(egress.TLSOptions{}), Sealer: o.Vault, CheckURL: o.Guard.CheckURL,
		Owns: n.owns, Alone: o.Alone, Counted: n.counts.delivered, Tracer: o.Tracer, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	n.counts.watch(o.Metrics, n.webhooks.Oldest)
	n.schedules = schedule.New(schedule.Options{
		Registry: o.Store, Create: n.fire, Running: n.running, Logger: o.Logger, Lag: n.counts.lag, Count: n.counts.fired,
	})
	n.survey = newSurvey(n.service, &n.opts)
	n.counts.ready(o.Metrics, n.service.Fleet.StoreProblem)
	n.server = server.New(n.serverOptions())
	n.handler = n.mounted(n.withPages())
	return n, nil
}

// Open opens an engine on the store of o, and returns it with a node around it. Neither runs yet.
func Open(ctx context.Context, o Options, eo engine.Options) (*Node, *engine.Engine, error) {
	p, err := Prepare(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	p.Configure(&eo)
	e, err := engine.Open(ctx, o.Store, eo)
	if err != nil {
		return nil, nil, err
	}
	n, err := p.New(e)
	return n, e, err
}

// serverOptions fills in the options of the HTTP API.
func (n *Node) serverOptions() server.Options {
	o := n.opts.Server
	o.Service, o.Keys, o.Audit, o.Schedules, o.Webhooks = n.service, n.keys, n.audit, n.schedules, n.webhooks
	if o.Name = n.engine.Name(); !n.opts.Alone {
		o.Alive = n.engine.Alive
	}
	o.Open, o.Version, o.Metrics, o.Store, o.Logger = n.opts.Open, n.opts.Version, n.opts.Metrics, n.opts.Store, n.log
	o.Sealer = n.opts.Vault
	sharing, ok := n.opts.Store.(store.Sharing)
	if portable, is := n.opts.Store.(store.Portable); is && (!ok || !sharing.Shared()) {
		o.Backup = portable
	}
	return o
}

// findTopics finds the Kafka topics of the configuration that receive events.
func (p *Prepared) findTopics() (err error) {
	for _, w := range p.opts.Topics {
		t := callback.Topic{Name: w.Topic, Topic: w.Topic, Tenant: w.Tenant, Types: w.Events}
		if t.Brokers, t.Dial, t.Options, err = p.base.Connections.Brokers(w.Connection); err != nil {
			return fmt.Errorf("events to topic %s: %w", w.Topic, err)
		}
		p.topics = append(p.topics, t)
	}
	return nil
}

// Drain makes the server refuse new work, and end streams.
func (n *Node) Drain() { n.server.Drain() }

// Public returns a handler without the routes of operators.
func (n *Node) Public() http.Handler { return n.mounted(n.server.Public()) }

// Service returns the node's service, without HTTP.
func (n *Node) Service() *service.Service { return n.service }

// Server returns the HTTP API.
func (n *Node) Server() *server.Server { return n.server }

// Keys returns the API keys.
func (n *Node) Keys() *access.Keys { return n.keys }

// Handler returns the handler of all requests: the API, and the pages.
func (n *Node) Handler() http.Handler { return n.handler }

// HasKeys reports whether any API key exists.
func (n *Node) HasKeys(ctx context.Context) (bool, error) {
	page, _, err := n.keys.List(ctx, access.Local(), "", 1)
	return len(page) > 0, err
}

// Run does the background work until ctx ends: it reads sources, fires schedules, and sends
// callbacks.
func (n *Node) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.service.Run(gctx) })
	g.Go(func() error { return n.schedules.Run(gctx) })
	g.Go(func() error { return n.webhooks.Run(gctx) })
	g.Go(func() error { n.prune(gctx); return nil })
	g.Go(func() error { n.reseal(gctx); return nil })
	if n.opts.Metrics != nil {
		g.Go(func() error { n.survey.run(gctx); return nil })
	}
	err := g.Wait()
	n.webhooks.Close() // connections to topics
	n.opts.Guard.CloseIdleConnections()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// Retention of deliveries of callbacks, of the audit log, and of answers to requests with an
// Idempotency-Key.
const (
	keepDeliveries = 30 * 24 * time.Hour
	keepAudit      = 400 * 24 * time.Hour
	keepAnswers    = 30 * 24 * time.Hour
	pruneEvery     = time.Hour
)

// prune removes expired history, until ctx ends.
func (n *Node) prune(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			_, err := n.webhooks.Prune(ctx, now.Add(-keepDeliveries))
			_, other := n.audit.Prune(ctx, now.Add(-keepAudit), 0)
			if err := errors.Join(err, other, n.server.Forget(ctx, now.Add(-keepAnswers)), n.service.Sweep(ctx)); err != nil &&
				ctx.Err() == nil {
				n.log.LogAttrs(ctx, slog.LevelWarn, "what happened long ago was not removed, will be tried again", slog.Any("error", err))
			}
		}
	}
}

// owns divides callbacks over nodes: it reports whether this node owns the partition of a bulk
// action.
func (n *Node) owns(bulkAction string) bool { return n.engine.Owns(weir.BulkID(bulkAction)) }

// note stores deliveries for an event.
func (n *Node) note(ctx context.Context, h service.Happening) error {
	ev := callback.Event{ID: callback.EventID(h.ID, h.Type, int64(h.Number)), Type: h.Type, Tenant: h.Tenant, BulkAction: h.ID, At: h.At, Trace: h.Trace}
	wanted, err := n.webhooks.Wanted(ctx, ev, target(h))
	if err != nil || !wanted && !n.survey.surveyor.Foretold(h.ID) {
		return err
	}
	b, err := h.View(ctx)
	if err != nil {
		return err
	}
	n.survey.ended(&b)
	if !wanted {
		return nil
	}
	if ev.Data, err = json.Marshal(n.server.WithLinks(b)); err != nil {
		return err
	}
	return n.webhooks.Note(ctx, ev, target(h))
}

// target returns the one-off callback of a bulk action, if it subscribes to this event.
func target(h service.Happening) *callback.Target {
	c := h.Callback
	if c == nil || !wants(c.Events, h.Type) {
		return nil
	}
	return &callback.Target{URL: c.URL, Secret: c.Secret}
}

func wants(events []string, kind string) bool {
	if len(events) == 0 {
		return true
	}
	for _, e := range events {
		if e == kind || "bulk_action."+e == kind {
			return true
		}
	}
	return false
}

// fire creates the bulk action of a schedule's slot, once.
func (n *Node) fire(ctx context.Context, s *schedule.Schedule, slot time.Time, key string) (string, error) {
	spec, err := n.service.Drafts.OpenTemplate(s.Template, s.Tenant)
	if err != nil {
		return "", fmt.Errorf("%w: %w", schedule.ErrRefused, err)
	}
	spec.Tenant, spec.Start = s.Tenant, true
	id, err := n.service.Drafts.CreateOnce(ctx, key, spec, draft.Made{Schedule: s.ID, Slot: slot})
	if twice := (*weir.DuplicateError)(nil); errors.As(err, &twice) {
		err = fmt.Errorf("%w: %w", schedule.ErrRefused, err) // the error is in the template
	}
	return id, err
}

func (n *Node) running(ctx context.Context, id string) (bool, error) {
	b, err := n.service.Bulks.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return false, nil
	}
	return err == nil && !b.State.Final(), err
}
