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

// Options configures [New]. Store, Guard and Vault have to be set.
type Options struct {
	Store store.Store
	// Guard is the way out to URLs that users give.
	Guard *egress.Guard
	// Vault seals secrets.
	Vault *vault.Vault
	// Steps are the actions of the program itself.
	Steps []weir.Step
	// Actions are those of the configuration file.
	Actions []api.Action
	// Connections are those of the configuration file, secrets included.
	Connections []api.Connection
	// MaxItems is the most items in a bulk action. Default 100 million.
	MaxItems int64
	// Logger takes the log. Default [slog.Default].
	Logger *slog.Logger
}

// Service does the work of a server. Make it with New, give its methods
// Describe, Event and IsDraft to the engine's options, and then Attach the engine.
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
	// finishing are the drafts that are being submitted by this process.
	finishing inHand
	programs  programs
	notify    func(context.Context, Happening) error
	probed    probe
	seenLock  sync.Mutex
	seen      forecast.Seen // of resources
	passings  passings
	etas      etas
}

// New makes a service on a store. The engine asks it for steps without a context:
// ctx bounds what it reads then.
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

// Attach gives the service its engine. Nothing but Describe, Event and IsDraft may be called before.
func (s *Service) Attach(e *engine.Engine) { s.engine = e }

// Engine is the engine that the service works with.
func (s *Service) Engine() *engine.Engine { return s.engine }

// OnEvent has what happens to bulk actions told to somebody, who has to make it
// durable. It must be set before the engine runs. Default: nobody is told.
func (s *Service) OnEvent(tell func(context.Context, Happening) error) { s.notify = tell }

// Run looks after drafts until ctx ends: it reads sources, ends what was begun
// before a crash, and removes what nobody wants any more.
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

// Refusal is a request that cannot be done, for a reason other than its own form.
type Refusal struct {
	Code   string // as in "sealed"
	Detail string
	Fix    string
	// RetryAfter is when asking again is worth it; 0: it is not.
	RetryAfter time.Duration
}

// Error tells reason and way out.
func (e *Refusal) Error() string {
	if e.Fix == "" {
		return e.Detail
	}
	return e.Detail + "; " + e.Fix
}
