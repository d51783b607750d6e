// Package node puts a weir server together: the service, who may use it,
// schedules, callbacks, and the HTTP API, around one engine.
//
// [New] makes it, [Node.Prepare] tells the engine's options of it, and
// [Node.Attach] gives it the engine. Then Handler answers requests and Run does
// what goes on beside them.
package node

import (
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
	"github.com/weirhq/weir/internal/service/schedule"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"golang.org/x/sync/errgroup"
)

// Options configures [New]. Store, Guard and Vault have to be set.
type Options struct {
	Store store.Store
	Guard *egress.Guard
	Vault *vault.Vault
	// Steps are the actions of the program, Actions and Connections those of the configuration.
	Steps       []weir.Step
	Actions     []api.Action
	Connections []api.Connection
	// File is what the configuration file says of things that can be changed at run
	// time, too. Default: there is no file, and what an earlier one said holds.
	File *File
	// Topics get events.
	Topics []Topic
	// AdminKeys are keys of the configuration.
	AdminKeys []vault.Secret
	// Alone says that no other process uses the store: what an earlier one was at when it died is taken up at once.
	Alone bool
	// Open lets everybody in without a key.
	Open bool
	// Version is that of the program.
	Version string
	// Server has the limits of requests; what this package fills in is ignored.
	Server server.Options
	// MaxItems is the most items in a bulk action.
	MaxItems int64
	// Metrics is what /metrics shows. Default: nothing.
	Metrics *prometheus.Registry
	// Logger takes the log. Default [slog.Default].
	Logger *slog.Logger
}

// Topic is a Kafka topic that gets events, by a connection of the configuration.
type Topic struct {
	Topic      string
	Connection string
	Tenant     string   // whose events; none: those of all tenants
	Events     []string // none: all
}

// Node is a server without the listening.
type Node struct {
	opts      Options
	log       *slog.Logger
	service   *service.Service
	keys      *access.Keys
	audit     *access.Audit
	schedules *schedule.Keeper
	webhooks  *callback.Notifier
	server    *server.Server
	counts    *counts
	survey    *survey
}

// New makes a node that has no engine yet. What the engine asks it, where it has
// no context to give, it asks until ctx ends.
func New(ctx context.Context, o Options) (*Node, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	n := &Node{opts: o, log: o.Logger, audit: access.NewAudit(o.Store), counts: newCounts(o.Metrics)}
	var err error
	n.service, err = service.New(ctx, service.Options{
		Store: o.Store, Guard: o.Guard, Vault: o.Vault, Steps: o.Steps, Actions: o.Actions, Connections: o.Connections, MaxItems: o.MaxItems, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if n.keys, err = access.NewKeys(o.Store, access.Options{Bootstrap: o.AdminKeys}); err != nil {
		return nil, err
	}
	topics, err := n.topics()
	if err != nil {
		return nil, err
	}
	n.webhooks, err = callback.New(callback.Options{
		Store: o.Store, Topics: topics, Transport: o.Guard.Transport(egress.TLSOptions{}), Sealer: o.Vault, CheckURL: o.Guard.CheckURL,
		Owns: n.owns, Alone: o.Alone, Counted: n.counts.delivered, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	n.counts.watch(o.Metrics, n.webhooks.Oldest)
	n.schedules = schedule.New(schedule.Options{
		Registry: o.Store, Create: n.fire, Running: n.running, Logger: o.Logger, Lag: n.counts.lag, Count: n.counts.fired,
	})
	n.survey = newSurvey(n.service, &n.opts)
	n.counts.ready(o.Metrics, n.service.StoreProblem)
	n.service.OnEvent(n.note)
	return n, nil
}

// topics are the Kafka topics of the configuration that get events.
func (n *Node) topics() (out []callback.Topic, err error) {
	for _, w := range n.opts.Topics {
		t := callback.Topic{Name: w.Topic, Topic: w.Topic, Tenant: w.Tenant, Types: w.Events}
		if t.Brokers, t.Dial, t.Options, err = n.service.Brokers(w.Connection); err != nil {
			return nil, fmt.Errorf("events to topic %s: %w", w.Topic, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// Prepare fills in the engine's options.
func (n *Node) Prepare(o *engine.Options) {
	o.Describe, o.Events, o.Drafts = n.service.Describe, n.service.Event, n.service.IsDraft
	if o.Transport == nil {
		o.Transport = n.opts.Guard.Transport(egress.TLSOptions{})
	}
	if n.opts.Metrics != nil {
		o.Metrics = n.opts.Metrics
	}
}

// Attach gives the node its engine.
func (n *Node) Attach(e *engine.Engine) {
	n.service.Attach(e)
	o := n.opts.Server
	o.Service, o.Keys, o.Audit, o.Schedules, o.Webhooks = n.service, n.keys, n.audit, n.schedules, n.webhooks
	if o.Name = e.Name(); !n.opts.Alone {
		o.Alive = e.Alive
	}
	o.Open, o.Version, o.Metrics, o.Store, o.Logger = n.opts.Open, n.opts.Version, n.opts.Metrics, n.opts.Store, n.log
	n.server = server.New(o)
}

// Drain has the server refuse new work, and end streams.
func (n *Node) Drain() { n.server.Drain() }

// Public answers requests without the routes of operators.
func (n *Node) Public() http.Handler { return n.server.Public() }

// Service is what the node does, without HTTP.
func (n *Node) Service() *service.Service { return n.service }

// Server is the HTTP API.
func (n *Node) Server() *server.Server { return n.server }

// Keys are the API keys.
func (n *Node) Keys() *access.Keys { return n.keys }

// Handler answers requests.
func (n *Node) Handler() http.Handler { return n.server.Handler() }

// HasKeys reports whether anybody has a key.
func (n *Node) HasKeys(ctx context.Context) (bool, error) {
	page, _, err := n.keys.List(ctx, access.Local(), "", 1)
	return len(page) > 0, err
}

// Run does what goes on beside requests until ctx ends: sources are read,
// schedules fire, callbacks are sent.
func (n *Node) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.service.Run(gctx) })
	g.Go(func() error { return n.schedules.Run(gctx) })
	g.Go(func() error { return n.webhooks.Run(gctx) })
	g.Go(func() error { n.prune(gctx); return nil })
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

// How long what happened is kept: deliveries of callbacks, the audit log, and
// answers to requests with an Idempotency-Key.
const (
	keepDeliveries = 30 * 24 * time.Hour
	keepAudit      = 400 * 24 * time.Hour
	keepAnswers    = 30 * 24 * time.Hour
	pruneEvery     = time.Hour
)

// prune removes what happened long ago, until ctx ends.
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
			if err := errors.Join(err, other, n.server.Forget(ctx, now.Add(-keepAnswers))); err != nil && ctx.Err() == nil {
				n.log.LogAttrs(ctx, slog.LevelWarn, "what happened long ago was not removed, will be tried again", slog.Any("error", err))
			}
		}
	}
}

// owns divides callbacks over nodes; those of bulk actions that nobody owns are everybody's.
func (n *Node) owns(bulkAction string) bool {
	e := n.service.Engine()
	return e == nil || e.Owns(weir.BulkID(bulkAction))
}

// note makes what happened durable as deliveries.
func (n *Node) note(ctx context.Context, h service.Happening) error {
	n.survey.ended(&h)
	data, err := json.Marshal(h.Bulk)
	if err != nil {
		return err
	}
	ev := callback.Event{
		ID: callback.EventID(h.Bulk.ID, h.Type, int64(h.Number)), Type: h.Type, Tenant: h.Bulk.Tenant, BulkAction: h.Bulk.ID, At: h.At, Data: data,
	}
	return n.webhooks.Note(ctx, ev, target(h))
}

// target is the one-off callback of a bulk action, if it wants to hear of this.
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

// fire makes the bulk action of a schedule's slot, once.
func (n *Node) fire(ctx context.Context, s *schedule.Schedule, slot time.Time, key string) (string, error) {
	spec, err := n.service.OpenTemplate(s.Template, s.Tenant)
	if err != nil {
		return "", fmt.Errorf("%w: %w", schedule.ErrRefused, err)
	}
	spec.Tenant, spec.Start = s.Tenant, true
	id, err := n.service.CreateOnce(ctx, key, spec, service.Made{Schedule: s.ID, Slot: slot})
	if twice := (*weir.DuplicateError)(nil); errors.As(err, &twice) {
		err = fmt.Errorf("%w: %w", schedule.ErrRefused, err) // they are in the template
	}
	return id, err
}

func (n *Node) running(ctx context.Context, id string) (bool, error) {
	b, err := n.service.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return false, nil
	}
	return err == nil && !b.State.Final(), err
}
