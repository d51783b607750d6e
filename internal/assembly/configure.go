package assembly

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/callback"
)

// File holds those settings of the configuration file that can also be changed at run time.
type File struct {
	Tenants   map[string]weir.TenantLimits
	Resources []weir.Resource
	Webhooks  []callback.FileEndpoint
}

// Configure makes the limits and webhooks of the configuration file the defaults of all nodes.
// Changes at run time stay, and are logged where the file differs. Entries that the file no
// longer has are removed.
//
// Call it before the engine runs.
func (n *Node) Configure(ctx context.Context) error {
	if err := n.service.Actions.Load(ctx, n.engine.KnowActions); err != nil {
		return fmt.Errorf("read actions: %w", err)
	}
	f := n.opts.File
	if f == nil {
		return nil
	}
	if err := n.engine.SetFileLimits(ctx, f.limits()); err != nil {
		return fmt.Errorf("limits of the configuration file: %w", err)
	}
	kept, err := n.webhooks.Follow(ctx, n.engine.Name(), f.Webhooks)
	if err != nil {
		return fmt.Errorf("webhooks of the configuration file: %w", err)
	}
	for _, e := range kept {
		n.overridden(ctx, "webhook", e.File.Name, e.Set)
	}
	return n.tellOverridden(ctx)
}

// limits returns the limits of the file. Zero values leave a limit to the actions.
func (f *File) limits() weir.FileLimits {
	out := weir.FileLimits{Tenants: f.Tenants, Resources: map[string]weir.ResourceLimits{}}
	for _, r := range f.Resources {
		var l weir.ResourceLimits
		if r.Rate != 0 {
			l.Rate = &r.Rate
		}
		if r.Concurrency != 0 {
			l.Concurrency = &r.Concurrency
		}
		if r.Pacing != "" {
			l.Pacing = &r.Pacing
		}
		if !l.Empty() {
			out.Resources[r.Name] = l
		}
	}
	return out
}

// tellOverridden logs the entries of the file without effect, because they were changed at run
// time.
func (n *Node) tellOverridden(ctx context.Context) error {
	l, err := n.engine.Operator().Limits(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.File.Tenants)) {
		if set, ok := l.Tenants[name]; ok {
			n.overridden(ctx, "tenant", name, set.Set)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.File.Resources)) {
		if set, ok := l.Resources[name]; ok {
			n.overridden(ctx, "resource", name, set.Set)
		}
	}
	actions, connections, err := n.service.Overridden(ctx)
	for _, a := range actions {
		n.overridden(ctx, "action", a.Name, weir.Stamp{By: a.ChangedBy, At: a.ChangedAt})
	}
	for _, c := range connections {
		n.overridden(ctx, "connection", c.Name, weir.Stamp{By: c.ChangedBy, At: c.ChangedAt})
	}
	return err
}

// overridden logs one setting that keeps its change at run time.
func (n *Node) overridden(ctx context.Context, kind, name string, set weir.Stamp) {
	n.log.LogAttrs(ctx, slog.LevelInfo, "a change made at run time overrides the configuration file",
		slog.String("kind", kind), slog.String("name", name), slog.String("changed_by", set.By), slog.Time("changed_at", set.At))
}
