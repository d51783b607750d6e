// Package local runs a node in this process on a data directory, and keeps there what a later process needs to
// continue a run.
//
// A directory has one process at a time: the store locks it. The record of a run is written before its items are
// accepted, under the id that the bulk action gets, so a crash at any moment leaves a record without a bulk action
// at worst, never the other way round.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/migrate"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
)

// DefaultData is the data directory in the working directory.
const DefaultData = ".weir"

// minFree is the free disk space that a run needs to begin.
const minFree = 256 << 20

// Node is a node in this process on a data directory. Nothing listens: commands use it through a client whose
// transport calls its handler.
type Node struct {
	Env    *command.Env
	Data   string // as the user wrote it
	store  store.Store
	node   *assembly.Node
	Runs   Runs
	Worker // runs from the first change on, or from start
	Broken chan error
	begin  sync.Once
	Run    string // the run whose items may be called; empty: none
}

// Options configures [Open].
type Options struct {
	Create bool        // the directory may be new
	Steps  []weir.Step // the actions. Default: those of the program
	Slots  int
	Log    *slog.Logger // default: none
}

// Open opens the node of a data directory. Until [Node.Start], or a request that changes something, nothing runs.
func Open(ctx context.Context, env *command.Env, data string, o Options) (*Node, error) {
	dir := env.Path(data)
	if _, err := os.Stat(dir); !o.Create && errors.Is(err, os.ErrNotExist) {
		return nil, command.BadUsage("name the data directory of the run with --data", "%s is not a data directory", data)
	}
	l := &Node{Env: env, Data: data, Runs: Runs{filepath.Join(dir, "runs")}, Broken: make(chan error, 1)}
	if err := os.MkdirAll(l.Runs.dir, 0o700); err != nil {
		return nil, command.BadUsage("choose another place with --data", "data directory: %v", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	st, err := pebblestore.Open(filepath.Join(dir, "store"), pebblestore.Options{
		Logger: o.Log, MinFree: minFree, Ballast: -1,
		OnFatal: func(err error) {
			select {
			case l.Broken <- err:
			default: // the first tells enough
			}
		},
	})
	if errors.Is(err, ErrLocked) {
		return nil, command.Fail(command.ExitOther, data+": another process is using this data directory",
			"wait for it to end, or choose another directory with --data")
	}
	if err != nil {
		return nil, command.Other(err, "choose another data directory with --data, or repair this one")
	}
	l.store = st
	if err := l.assemble(ctx, o); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return l, nil
}

// OpenMemory returns a node in memory, for questions about what does not exist yet.
func OpenMemory(ctx context.Context, env *command.Env, st store.Store, o Options) (*Node, error) {
	o.Log = slog.New(slog.DiscardHandler)
	l := &Node{Env: env, store: st, Broken: make(chan error, 1)}
	return l, l.assemble(ctx, o)
}

// assemble makes the node and its engine. Secrets are never stored by a run, so the key of the vault may be lost.
func (l *Node) assemble(ctx context.Context, o Options) error {
	if err := migrate.Check(ctx, l.store); err != nil {
		return failed(err)
	}
	v, err := vault.New(vault.NewKey())
	if err != nil {
		return err
	}
	if o.Steps == nil {
		o.Steps = append(demo.Actions(demo.Options{}), l.Env.Steps...)
	}
	life := context.WithoutCancel(ctx)
	p, err := assembly.Prepare(life, assembly.Options{
		Store: l.store, Guard: egress.New(egress.Policy{}), Vault: v, Steps: o.Steps, Open: true, Alone: true,
		Runs:    func(run string) bool { return l.Run != "" && run == l.Run },
		Version: command.Version(), Logger: o.Log,
	})
	if err != nil {
		return err
	}
	eo := engine.Options{Slots: o.Slots, Workers: o.Slots, Logger: o.Log} // a run of one file uses all slots from the start
	p.Configure(&eo)
	if l.Engine, err = engine.Open(ctx, l.store, eo); err != nil {
		return failed(err)
	}
	l.node, err = p.New(l.Engine)
	return err
}

// failed says what a store that cannot be used means for the user.
func failed(err error) error {
	if f, ok := errors.AsType[*own.FormatError](err); ok {
		return command.BadUsage(f.Fix()+"; or choose another data directory with --data", "%s", f.What())
	}
	return command.Other(err, "choose another data directory with --data")
}

// RunIn returns the run that a bulk action belongs to; empty: none.
func RunIn(b *api.BulkAction) string {
	return chain.RunOf(fmt.Appendf(nil, `{"params":%s}`, orNull(b.Params)))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// ServeHTTP answers the client of this process. A change needs the engine to be applied.
func (l *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		l.Start(context.WithoutCancel(r.Context()))
	}
	l.node.Handler().ServeHTTP(w, r)
}

// Start lets the engine work until it is told to stop.
func (l *Node) Start(ctx context.Context) { l.begin.Do(func() { l.Worker.Start(ctx) }) }

// Service returns what the node does, for callers that stream items past HTTP.
func (l *Node) Service() *service.Service { return l.node.Service() }

// Close ends engine and store.
func (l *Node) Close() error { return errors.Join(l.End(), l.store.Close()) }

// DataFlag is the flag that names the data directory in a command to be repeated.
func (l *Node) DataFlag() string {
	if l.Data == DefaultData && !l.Env.HasServer() {
		return ""
	}
	return fmt.Sprintf(" --data %s", term.Quote(l.Data))
}
