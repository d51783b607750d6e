package cli

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
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
)

// defaultData is the data directory in the working directory.
const defaultData = ".weir"

// minFree is the free disk space that a run needs to begin.
const minFree = 256 << 20

// local is a node in this process on a data directory. Nothing listens: commands use it through a client whose
// transport calls its handler.
type local struct {
	env    *Env
	data   string // as the user wrote it
	store  store.Store
	node   *assembly.Node
	runs   runs
	worker // runs from the first change on, or from start
	broken chan error
	begin  sync.Once
	run    string // the run whose items may be called; empty: none
}

// localOptions configures [openLocal].
type localOptions struct {
	create bool        // the directory may be new
	steps  []weir.Step // the actions. Default: those of the program
	slots  int
	log    *slog.Logger // default: none
}

// worker is an engine and its Run in the background.
type worker struct {
	engine *engine.Engine
	stop   context.CancelFunc
	over   chan struct{} // closed when Run has returned
	err    error         // of Run
}

// openLocal opens the node of a data directory. Until [local.start], or a request that changes something, nothing runs.
func openLocal(ctx context.Context, env *Env, data string, o localOptions) (*local, error) {
	dir := env.path(data)
	if _, err := os.Stat(dir); !o.create && errors.Is(err, os.ErrNotExist) {
		return nil, badUsage("name the data directory of the run with --data", "%s is not a data directory", data)
	}
	l := &local{env: env, data: data, runs: runs{filepath.Join(dir, "runs")}, broken: make(chan error, 1)}
	if err := os.MkdirAll(l.runs.dir, 0o700); err != nil {
		return nil, badUsage("choose another place with --data", "data directory: %v", err)
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	st, err := pebblestore.Open(filepath.Join(dir, "store"), pebblestore.Options{
		Logger: o.log, MinFree: minFree, Ballast: -1,
		OnFatal: func(err error) {
			select {
			case l.broken <- err:
			default: // the first tells enough
			}
		},
	})
	if errors.Is(err, errLocked) {
		return nil, &failure{exitOther, data + ": another process is using this data directory",
			"wait for it to end, or choose another directory with --data"}
	}
	if err != nil {
		return nil, other(err, "choose another data directory with --data, or repair this one")
	}
	l.store = st
	if err := l.assemble(ctx, o); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return l, nil
}

// openMemory returns a node in memory, for questions about what does not exist yet.
func openMemory(ctx context.Context, env *Env, st store.Store, o localOptions) (*local, error) {
	o.log = slog.New(slog.DiscardHandler)
	l := &local{env: env, store: st, broken: make(chan error, 1)}
	return l, l.assemble(ctx, o)
}

// assemble makes the node and its engine. Secrets are never stored by a run, so the key of the vault may be lost.
func (l *local) assemble(ctx context.Context, o localOptions) error {
	v, err := vault.New(vault.NewKey())
	if err != nil {
		return err
	}
	if o.steps == nil {
		o.steps = append(demo.Actions(demo.Options{}), l.env.Steps...)
	}
	life := context.WithoutCancel(ctx)
	p, err := assembly.Prepare(life, assembly.Options{
		Store: l.store, Guard: egress.New(egress.Policy{}), Vault: v, Steps: o.steps, Open: true, Alone: true, Runs: true,
		Version: version(), Logger: o.log,
	})
	if err != nil {
		return err
	}
	eo := engine.Options{Slots: o.slots, Workers: o.slots, Logger: o.log} // a run of one file uses all slots from the start
	p.Configure(&eo)
	describe := eo.Describe
	eo.Describe = func(text []byte) ([]weir.Step, error) {
		if l.run == "" || chain.RunOf(text) != l.run {
			return nil, errors.New("only the run of the command continues")
		}
		return describe(text)
	}
	if l.engine, err = engine.Open(ctx, l.store, eo); err != nil {
		return other(err, "choose another data directory with --data")
	}
	l.node, err = p.New(l.engine)
	return err
}

// runIn returns the run that a bulk action belongs to; empty: none.
func runIn(b *api.BulkAction) string {
	return chain.RunOf(fmt.Appendf(nil, `{"params":%s}`, orNull(b.Params)))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// ServeHTTP answers the client of this process. A change needs the engine to be applied.
func (l *local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		l.start(context.WithoutCancel(r.Context()))
	}
	l.node.Handler().ServeHTTP(w, r)
}

// link returns the way of commands to the node.
func (l *local) link() (*link, error) {
	c, err := client.New(client.Options{Server: "http://localhost", HTTP: &http.Client{Transport: localTransport{l}},
		UserAgent: "weir-cli/" + version(), Tries: 1})
	return &link{env: l.env, Client: c, flag: l.dataFlag(), local: l}, err
}

// start lets the engine work until it is told to stop.
func (l *local) start(ctx context.Context) { l.begin.Do(func() { l.worker.start(ctx) }) }

// start lets the engine work until it is told to stop.
func (w *worker) start(ctx context.Context) {
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.over = make(chan struct{})
	go func() {
		defer close(w.over)
		w.err = w.engine.Run(ctx)
	}()
}

// end lets running tasks finish. It can be called twice.
func (w *worker) end() error {
	if w.stop == nil {
		return nil
	}
	w.stop()
	<-w.over
	return w.err
}

// close ends engine and store.
func (l *local) close() error { return errors.Join(l.end(), l.store.Close()) }

// dataFlag is the flag that names the data directory in a command to be repeated.
func (l *local) dataFlag() string {
	if l.data == defaultData && !l.env.hasServer() {
		return ""
	}
	return fmt.Sprintf(" --data %s", quote(l.data))
}

// sleep waits, or returns early with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
