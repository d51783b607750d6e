package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/fleet"
	"github.com/weirhq/weir/internal/service/outlook"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/result"
	"github.com/weirhq/weir/internal/service/series"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/service/watch"
	"github.com/weirhq/weir/store"
)

// Options configures [Prepare]. Store, Guard and Vault are required.
type Options struct {
	Store store.Store
	// Guard checks and makes connections to URLs that users give.
	Guard *egress.Guard
	// Vault seals secrets.
	Vault *vault.Vault
	// Steps are the actions of the program itself.
	Steps []weir.Step
	// Actions are the actions of the configuration file.
	Actions []api.Action
	// Connections are the connections of the configuration file, secrets included.
	Connections []api.Connection
	// Runs reports whether this process continues a run of weir run; empty: a bulk action that belongs to none.
	// Default: it continues all but runs, since only weir run has the endpoints of their steps.
	Runs func(run string) bool
	// MaxItems bounds the items of a bulk action. Default 100 million.
	MaxItems int64
	// SeriesEvery is how often the node measures for time series. Default 10s.
	SeriesEvery time.Duration
	// Logger receives the log. Default [slog.Default].
	Logger *slog.Logger
}

// Base holds the parts of a service that need no engine. An engine needs them when it opens.
type Base struct {
	Actions     *registry.Actions
	Connections *registry.Connections
	Templates   *registry.Templates
	Chains      *chain.Chains

	life context.Context // see Prepare
	opts Options
}

// Prepare returns the parts of a service on a store that need no engine. Some calls have no context,
// such as the engine's question for steps: ctx bounds those.
func Prepare(ctx context.Context, o Options) (*Base, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	from := registry.Options{Store: o.Store, Guard: o.Guard, Vault: o.Vault, Steps: o.Steps, Actions: o.Actions,
		Connections: o.Connections}
	actions, err := registry.NewActions(ctx, from)
	return &Base{
		Actions: actions, Connections: registry.NewConnections(ctx, from), Templates: registry.NewTemplates(o.Store, o.Vault, actions),
		Chains: chain.New(actions),
		life:   ctx, opts: o,
	}, err
}

// describe builds the steps of a stored chain, for the engine.
func (b *Base) describe(text []byte) ([]weir.Step, error) {
	if b.opts.Runs == nil {
		return b.Chains.DescribeUnlessRun(text)
	}
	if !b.opts.Runs(chain.RunOf(text)) {
		return nil, errors.New("only the run of the command continues")
	}
	return b.Chains.Describe(text)
}

// Service implements a server. Each field is one noun of the API.
type Service struct {
	*Base
	Drafts  *draft.Drafts
	Bulks   *bulk.Bulks
	Outlook *outlook.Outlook
	Watch   *watch.Watch
	Results *result.Results
	Fleet   *fleet.Fleet
	Series  *series.Series

	engine *engine.Engine
	notify func(context.Context, Happening) error
}

// New returns a service around an engine that does not run yet. Notify receives the events of bulk
// actions and makes them durable; nil: they are dropped.
func New(b *Base, e *engine.Engine, notify func(context.Context, Happening) error) (*Service, error) {
	s := &Service{Base: b, engine: e, notify: notify}
	st := b.opts.Store
	s.Drafts = draft.New(b.life, draft.Options{
		Store: st, Engine: e, Connections: b.Connections, Templates: b.Templates, Chains: b.Chains,
		Guard: b.opts.Guard, Vault: b.opts.Vault,
		MaxItems: b.opts.MaxItems, Failed: s.failed, Logger: b.opts.Logger,
	})
	s.Bulks = bulk.New(e, s.Drafts, b.Actions, b.Chains, st, b.opts.Vault)
	s.Fleet = fleet.New(e, b.Actions, st, b.opts.Logger)
	s.Series = series.New(e, s.Bulks, s.Fleet, st, series.Options{Every: b.opts.SeriesEvery, Logger: b.opts.Logger})
	s.Outlook = outlook.New(e, s.Bulks, s.Drafts, b.Actions, b.Chains, s.Series, st)
	s.Watch = watch.New(e, s.Bulks, b.Actions, s.Outlook)
	s.Results = result.New(e, s.Bulks, b.Actions, s.Outlook, st)
	return s, e.Attach(engine.Hooks{Describe: b.describe, Events: s.event, Drafts: draft.Has(st)})
}

// Engine returns the engine that the service uses.
func (s *Service) Engine() *engine.Engine { return s.engine }

// Run does the background work until ctx ends: it reads sources, finishes what a crash interrupted,
// removes expired data, follows changed actions, measures and probes the store.
func (s *Service) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { s.Drafts.Run(ctx) })
	all.Go(func() { s.Fleet.Run(ctx) })
	all.Go(func() { s.Series.Run(ctx) })
	all.Go(func() { s.Actions.Run(ctx, s.opts.Logger) })
	all.Wait()
	return nil
}

// Sweep removes the records of bulk actions that were removed at the end of their retention.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.Drafts.Sweep(ctx, s.gone), s.Outlook.Sweep(ctx, s.gone), s.Results.Sweep(ctx, s.gone),
		s.Series.Sweep(ctx, s.gone))
}

// gone reports whether a bulk action is known to have been removed. One that was never found is not
// gone: it may be about to be created.
func (s *Service) gone(ctx context.Context, id string) (bool, error) {
	_, err := s.engine.Get(ctx, weir.BulkID(id))
	return errors.Is(err, weir.ErrExpired), check.IgnoreRemoved(err)
}

// Overridden returns the actions and connections of the configuration file that were changed over
// the API.
func (s *Service) Overridden(ctx context.Context) ([]api.Action, []api.Connection, error) {
	actions, err := s.Actions.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	connections, err := s.Connections.All(ctx)
	return slices.DeleteFunc(actions, func(a api.Action) bool { return a.File == nil }),
		slices.DeleteFunc(connections, func(c api.Connection) bool { return c.File == nil }), err
}
