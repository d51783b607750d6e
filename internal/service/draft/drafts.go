package draft

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/upload"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// Options configures [New]. All but MaxItems are required.
type Options struct {
	Store       store.Store
	Engine      *engine.Engine
	Actions     *registry.Actions
	Connections *registry.Connections
	Templates   *registry.Templates
	Chains      *chain.Chains
	// Guard checks the URLs of callbacks, and Vault seals their secrets.
	Guard *egress.Guard
	Vault *vault.Vault
	// MaxItems bounds the items of a bulk action. Default 100 million.
	MaxItems int64
	// Failed reports that a draft failed. It is called again until it returns nil.
	Failed func(ctx context.Context, id string, d *Draft) error
	Logger *slog.Logger
}

// Drafts holds the bulk actions that are not submitted yet. Its methods may be called from several
// goroutines.
type Drafts struct {
	life        context.Context // see New
	opts        Options
	log         *slog.Logger
	engine      *engine.Engine
	intake      *ingest.Intake
	actions     *registry.Actions
	connections *registry.Connections
	templates   *registry.Templates
	chains      *chain.Chains
	drafts      *records.Table[Draft]
	parts       *records.Table[part]
	once        *records.Table[once]
	logs        draftLogs
	wake        chan struct{}
	// finishing holds the drafts that this process is submitting.
	finishing inHand
}

// New returns the drafts in a store. Checks of uploads have no context: ctx bounds them.
func New(ctx context.Context, o Options) *Drafts {
	o.MaxItems = cmp.Or(o.MaxItems, 100_000_000)
	return &Drafts{
		life: ctx, opts: o, log: o.Logger, engine: o.Engine, intake: o.Engine.Intake(), actions: o.Actions,
		connections: o.Connections, templates: o.Templates, chains: o.Chains,
		drafts: records.New[Draft](o.Store, kind), parts: records.New[part](o.Store, "part"),
		once: records.New[once](o.Store, "once"), wake: make(chan struct{}, 1),
	}
}

// kind is that of the records of drafts.
const kind = "draft"

// Has returns a function that reports whether the items stored under an id belong to a draft or an
// upload; see engine.Options.
func Has(s records.Keeper) func(context.Context, weir.BulkID) (bool, error) {
	drafts, files := records.New[Draft](s, kind), upload.New(s, nil, nil)
	return func(ctx context.Context, id weir.BulkID) (bool, error) {
		_, err := drafts.Get(ctx, string(id))
		if errors.Is(err, weir.ErrNotFound) {
			return files.Has(ctx, id)
		}
		return err == nil, err
	}
}

// IDs returns the ids of all drafts.
func (s *Drafts) IDs(ctx context.Context) (ids []string, err error) {
	for e, err := range s.drafts.All(ctx, "") {
		if err != nil {
			return nil, err
		}
		ids = append(ids, e.Name)
	}
	return ids, nil
}

// Sweep removes unused uploads, logs of drafts that were sealed long ago, and the keys of bulk
// actions that are gone.
func (s *Drafts) Sweep(ctx context.Context, gone func(ctx context.Context, id string) (bool, error)) error {
	return errors.Join(
		s.files().Sweep(ctx, time.Now().Add(-uploadsFor), s.waitsFor),
		s.once.Sweep(ctx, func(ctx context.Context, e records.Entry[once]) (bool, error) { return gone(ctx, e.Value.ID) }),
		s.sweepLogs(ctx, time.Now().Add(-appendsFor)),
	)
}

// sweepEvery is the interval between searches for expired data.
const sweepEvery = time.Hour

// appendsFor is how long after the seal a repeated append is recognised.
const appendsFor = 7 * 24 * time.Hour

// sweepLogs removes the logs of drafts that were sealed before a time and submitted.
func (s *Drafts) sweepLogs(ctx context.Context, before time.Time) error {
	for e, err := range s.parts.All(ctx, "") {
		if err != nil {
			return err
		}
		if e.Value.Seal == nil || !e.Value.Seal.At.Before(before) {
			continue
		}
		id, _, _ := strings.Cut(e.Name, "/")
		_, err := s.Get(ctx, id)
		if errors.Is(err, weir.ErrNotFound) {
			err = s.removeLog(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
