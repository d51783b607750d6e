// Package serve runs the server: it opens addresses and the store, starts the node, and stops both in order.
//
// Addresses are opened first, since a port that is taken is the most frequent mistake and costs nothing to find. The
// store is closed last, when no request and no task needs it.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/migrate"
	"github.com/weirhq/weir/store"
)

// Commands returns the commands that run a server and show its settings.
func Commands() []command.Command {
	return []command.Command{
		serveCommand(), configCommand(),
	}
}

const serveLong = `Runs the server. It accepts bulk actions over HTTP, stores them, and runs them.

Without flags it listens on this machine only and stores everything in .weir. To serve other machines it requires a
key and TLS, or tls.proxy if a proxy terminates TLS. Servers that use the same Redis share the work.

Every flag is also a key of weir.yaml and an environment variable: --limits-body is limits: {body: ...} and
WEIR_LIMITS_BODY. A flag overrides a variable, and a variable overrides the file. weir config print shows each value
and its origin; weir doctor checks the machine.

SIGTERM, SIGHUP or one Ctrl-C drains: running tasks and requests finish, then the server exits with code 0. A second
signal aborts; tasks in flight run again after the next start. SIGHUP does not reload the configuration.

Exit codes: 0 stopped by a signal · 1 any other error · 2 configuration, port, directory or store not usable ·
3 Redis not reachable · 130 aborted`

func serveCommand() command.Command {
	return command.Command{
		Use: "serve", Short: "run the server", Long: serveLong,
		Example: `  weir serve
  weir serve --config /etc/weir/weir.yaml --data /var/lib/weir
  weir serve --listen :8443 --tls-cert cert.pem --tls-key key.pem --admin-key-file admin.key
  weir serve --redis redis://host:6379 --role worker`,
		Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &Settings{}
			o.Bind(fs)
			acceptLoss := fs.Bool("accept-loss", false, "continue with a store that has lost accepted work")
			return func(ctx context.Context, env *command.Env, _ []string) error {
				conf, err := o.Load(env)
				if err != nil {
					return err
				}
				return serve(ctx, env, conf, nodeParts(*acceptLoss), *acceptLoss)
			}
		},
	}
}

// newHandler makes what answers requests, and the keepers: work beside requests that goes on until its context
// ends. ctx ends when the server begins to drain: from then on new work is refused, and streams end. A handler
// that is also an [operated] has routes of its own for operators, one that is [keyed] knows of keys in the store.
type newHandler func(ctx context.Context, c *config.Server, e *engine.Engine, s store.Store,
	log *slog.Logger) (h http.Handler, keepers func(ctx context.Context) error, err error)

// operated is a handler whose routes for operators are on the second address.
type operated interface{ Operators() http.Handler }

// keyed is a handler that knows whether any API key exists.
type keyed interface {
	HasKeys(ctx context.Context) (bool, error)
}

// parts holds the parts of a server besides store and engine.
type parts struct {
	metrics *prometheus.Registry
	handler newHandler
	// node makes the server itself; nil: handler is all there is.
	node func(ctx context.Context, env *command.Env, c *config.Server, s store.Store, tracer weir.Tracer,
		log *slog.Logger) (*assembly.Prepared, error)
}

// serving is a server that runs, or begins to.
type serving struct {
	env  *command.Env
	conf *config.Server
	log  *slog.Logger

	tracer       weir.Tracer // nil: traces are off
	doors        []*door
	store        store.Store
	broken       chan error // the store can no longer be trusted
	local.Worker            // its engine

	refuse  context.CancelFunc // of the handler's context: new work is refused from then on
	rest    context.CancelFunc // of the keepers' context
	keepers chan error         // how they ended
	failed  chan error         // of the doors
}

// serve runs a server until it is told to stop.
func serve(ctx context.Context, env *command.Env, conf *config.Server, p parts, acceptLoss bool) (err error) {
	s := &serving{env: env, conf: conf, log: newLog(env, conf), broken: make(chan error, 1), keepers: make(chan error, 1),
		failed: make(chan error, 2)}
	endTraces, err := s.startTraces(ctx)
	if err != nil {
		return err
	}
	defer endTraces() // what was done last is sent, too
	if s.doors, err = openDoors(ctx, conf, s.log); err != nil {
		return err
	}
	defer s.shut()
	if s.store, err = s.openStore(ctx, acceptLoss); err != nil {
		return err
	}
	if err := s.begin(ctx, p, acceptLoss); err != nil {
		return errors.Join(err, s.store.Close())
	}
	s.tell(ctx)
	return s.until(ctx)
}

// begin starts the engine, the keepers and the answering of requests.
func (s *serving) begin(ctx context.Context, p parts, acceptLoss bool) error {
	o := s.engineOptions(acceptLoss)
	o.Metrics = p.metrics
	handler := p.handler
	err := migrate.Check(ctx, s.store)
	if err != nil {
		return StoreFailed(s.conf, err)
	}
	if p.node != nil {
		n, err := p.node(context.WithoutCancel(ctx), s.env, s.conf, s.store, s.tracer, s.log)
		if err != nil {
			return err
		}
		n.Configure(&o)
		handler = s.answering(n)
	}
	if s.Engine, err = engine.Open(ctx, s.store, o); err != nil {
		return StoreFailed(s.conf, err)
	}
	taking, refuse := context.WithCancel(context.WithoutCancel(ctx))
	s.refuse = refuse
	h, keep, err := handler(taking, s.conf, s.Engine, s.store, s.log)
	if err == nil {
		err = s.wantKeys(ctx, h)
	}
	if err != nil {
		refuse()
		return err
	}
	if s.conf.Role != config.RoleAPI {
		s.Start(ctx)
	}
	s.keep(ctx, keep)
	for _, d := range s.doors {
		d.answer(ctx, h, s.log, s.failed)
	}
	return nil
}

// keep runs the keepers until rest is called.
func (s *serving) keep(ctx context.Context, keep func(context.Context) error) {
	ctx, s.rest = context.WithCancel(context.WithoutCancel(ctx))
	if keep == nil {
		keep = func(ctx context.Context) error { <-ctx.Done(); return nil }
	}
	go func() { s.keepers <- keep(ctx) }()
}

func (s *serving) engineOptions(acceptLoss bool) engine.Options {
	c := s.conf
	return engine.Options{
		Partitions: c.Partitions, Slots: c.Slots, Workers: min(c.Workers, c.Slots), MaxPending: int64(c.Limits.PendingItems),
		LeaseFor: time.Duration(c.Lease), DrainFor: time.Duration(c.Drain), KeepFor: time.Duration(c.Retention),
		AcceptLoss: acceptLoss, Logger: s.log,
	}
}

// wantKeys refuses to serve other machines as long as no API key exists.
func (s *serving) wantKeys(ctx context.Context, h http.Handler) error {
	if !s.conf.Reachable() || !s.conf.AdminKey.IsZero() {
		return nil
	}
	if k, ok := h.(keyed); ok {
		if has, err := k.HasKeys(ctx); err != nil || has {
			return err
		}
	}
	return command.BadUsage("set admin_key_file, or create a key while the server listens on 127.0.0.1",
		"other machines can reach %s, and no API key exists", s.doors[0].address)
}

// until works until there is a reason to stop, and stops.
func (s *serving) until(ctx context.Context) error {
	var why error
	select {
	case <-s.env.Signals:
	case <-ctx.Done():
	case err := <-s.broken:
		return command.Other(fmt.Errorf("the store cannot be trusted any more: %w", err),
			"check the disk, then start again: accepted work is read from it")
	case why = <-s.failed:
	case <-s.Over:
		s.Stop()
		s.Stop = nil // or drain would tell its error again
		why = errors.Join(s.Err, errors.New("the engine has stopped unexpectedly"))
	case why = <-s.keepers:
		s.keepers <- nil
		why = errors.Join(why, errors.New("the background work has stopped unexpectedly"))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "draining", slog.String("for", time.Duration(s.conf.Drain).String()))
	notify(ctx, s.env, "STOPPING=1")
	drained := make(chan error, 1)
	go func() { drained <- s.drain(ctx) }()
	select {
	case err := <-drained:
		s.log.LogAttrs(ctx, slog.LevelInfo, "stopped")
		return errors.Join(why, err)
	case err := <-s.broken:
		return command.Other(fmt.Errorf("the store cannot be trusted any more: %w", err), "check the disk, then start again")
	case <-s.env.Signals:
		return command.Fail(command.ExitInterrupted, "aborted; tasks in flight run again after the next start", "")
	}
}

// drain lets requests, tasks and keepers end, and closes the store.
func (s *serving) drain(ctx context.Context) error {
	// The order matters: new work is refused first, requests and tasks end side by side within the same time, the
	// keepers may still be needed by both and end after them, and the store is closed when nothing can write.
	s.refuse()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(s.conf.Drain))
	defer cancel()
	errs := make([]error, len(s.doors))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i, d := range s.doors {
			errs[i] = d.close(ctx)
		}
	}()
	err := s.End()
	if errors.Is(err, context.Canceled) {
		err = nil // stopped before it had begun
	}
	<-done
	s.rest()
	return errors.Join(err, errors.Join(errs...), <-s.keepers, s.store.Close())
}

// shut closes what is still open.
func (s *serving) shut() {
	for _, d := range s.doors {
		_ = d.listener.Close() // closed before, as a rule
	}
}

// newLog returns the log of the server: stderr, as text for people and as JSON for programs.
func newLog(env *command.Env, c *config.Server) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // package config has looked
	o := &slog.HandlerOptions{Level: level}
	if c.Log.Format == config.LogText || c.Log.Format == config.LogAuto && env.Terminal != nil {
		return slog.New(traced{slog.NewTextHandler(env.Stderr, o)})
	}
	return slog.New(traced{slog.NewJSONHandler(term.JSONLines{To: env.Stderr}, o)})
}
