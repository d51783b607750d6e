package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"golang.org/x/sync/errgroup"
)

// Options configures [New]. Store, Guard and Vault are required.
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
	// MaxItems bounds the items of a bulk action. Default 100 million.
	MaxItems int64
	// Logger receives the log. Default [slog.Default].
	Logger *slog.Logger
}

// Service implements a server. Create it with New, pass its methods Describe, Event and IsDraft to
// the engine's options, and then Attach the engine.
type Service struct {
	life    context.Context // see New
	began   time.Time
	opts    Options
	log     *slog.Logger
	engine  *engine.Engine
	drafts  *records.Table[draft]
	parts   *records.Table[part]
	logs    draftLogs
	actions *actions
	links   *records.Table[linked]
	world   feed.World
	wake    chan struct{}
	// finishing holds the drafts that this process is submitting.
	finishing inHand
	programs  programs
	notify    func(context.Context, Happening) error
	probed    probe
	seenLock  sync.Mutex
	seen      forecast.Seen // of resources
	passings  passings
	etas      etas
}

// New returns a service on a store. The engine asks it for steps without a context: ctx bounds
// those reads.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxItems == 0 {
		o.MaxItems = 100_000_000
	}
	s := &Service{
		life: ctx, began: time.Now().UTC(), opts: o, log: o.Logger, drafts: records.New[draft](o.Store, "draft"), parts: records.New[part](o.Store, "part"),
		links: records.New[linked](o.Store, "link"), wake: make(chan struct{}, 1),
	}
	s.world = feed.World{Client: o.Guard.Client(30 * time.Second), Dial: o.Guard.DialContext, Now: time.Now}
	var err error
	s.actions, err = newActions(ctx, o)
	return s, err
}

// Attach sets the engine. Only Describe, Event and IsDraft may be called before.
func (s *Service) Attach(e *engine.Engine) { s.engine = e }

// Engine returns the engine that the service uses.
func (s *Service) Engine() *engine.Engine { return s.engine }

// OnEvent sets the function that receives the events of bulk actions and makes them durable. It
// must be set before the engine runs. Default: events are dropped.
func (s *Service) OnEvent(tell func(context.Context, Happening) error) { s.notify = tell }

// Run maintains drafts until ctx ends: it reads sources, finishes work that a crash interrupted,
// and removes expired data.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.keepDrafts(ctx); return nil })
	g.Go(func() error { s.keepProbing(ctx); return nil })
	g.Go(func() error { s.actions.keep(ctx, s.log); return nil })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// Refusal is an error for a request that is well-formed but cannot be done now.
type Refusal struct {
	Code   string // as in "sealed"
	Detail string
	Fix    string
	// RetryAfter is when a repeat may succeed; 0: it will not.
	RetryAfter time.Duration
}

// Error returns the reason and the fix.
func (e *Refusal) Error() string {
	if e.Fix == "" {
		return e.Detail
	}
	return e.Detail + "; " + e.Fix
}
