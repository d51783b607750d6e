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
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/due"
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
	*kept
	*files
	*rules
	*Appends
	*Seals
	*Imports
	*Creates
	*Checks
	store  store.Store
	blocks upload.Blocks
}

// New returns the drafts in a store. Checks of uploads have no context: ctx bounds them.
func New(ctx context.Context, o Options) *Drafts {
	k := &kept{
		drafts: records.New[Draft](o.Store, kind), parts: records.New[part](o.Store, "part"), engine: o.Engine, intake: o.Engine.Intake(),
	}
	f := &files{k, upload.New(o.Store, k.intake, func(context.Context) (string, string) { return "", "" })}
	r := &rules{f, ctx, o.Guard, o.Chains, o.Connections}
	a := &Appends{k, o.Store, o.Chains, cmp.Or(o.MaxItems, 100_000_000), o.Logger}
	s := &Seals{kept: k, files: f}
	i := &Imports{kept: k, files: f, rules: r, Appends: a, Seals: s, failed: o.Failed}
	i.runner = due.New(due.Options[struct{}]{Find: i.find, Work: i.work, Every: lookEvery, Name: "drafts", Logger: o.Logger})
	c := &Creates{k, f, r, a, s, o.Templates, o.Vault, records.New[once](o.Store, "once"), i.runner.Wake}
	return &Drafts{k, f, r, a, s, i, c, &Checks{kept: k, files: f, rules: r, Appends: a}, o.Store, k.intake}
}

// Uploads returns the resumable uploads; see [upload.New] for who.
func (s *Drafts) Uploads(who func(context.Context) (tenant, key string)) *upload.Uploads {
	return upload.New(s.store, s.blocks, who)
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
func (s *kept) IDs(ctx context.Context) (ids []string, err error) {
	for e, err := range s.drafts.Versions(ctx, "") {
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
		s.uploads.Sweep(ctx, time.Now().Add(-uploadsFor), s.waitsFor),
		s.once.Sweep(ctx, func(ctx context.Context, e records.Entry[once]) (bool, error) { return gone(ctx, e.Value.ID) }),
		s.sweepLogs(ctx, time.Now().Add(-appendsFor)),
	)
}

// appendsFor is how long after the seal a repeated append is recognised.
const appendsFor = 7 * 24 * time.Hour

// sweepLogs removes the logs of drafts that were sealed before a time and submitted.
func (s *kept) sweepLogs(ctx context.Context, before time.Time) error {
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
