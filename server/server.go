package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	inner "github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/reseal"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// Server is the service around one engine. It is an [http.Handler], safe for use from several goroutines.
type Server struct {
	engine *inner.Engine
	node   *assembly.Node
}

// New makes the service of an engine that does not run yet. Register actions and chains before: the engine accepts
// none afterwards. It reads and writes the store, for which ctx is.
func New(ctx context.Context, e *engine.Engine, o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("server options: %w", err)
	}
	allow, err := egress.ParseAllow("Egress", o.Egress)
	if err != nil {
		return nil, fmt.Errorf("server options: %w", err)
	}
	of := (*inner.Engine)(e)
	v, err := openVault(ctx, o.VaultKey, of.Store())
	if err != nil {
		return nil, err
	}
	p, err := assembly.Prepare(context.WithoutCancel(ctx), o.inner(of, egress.New(egress.Policy{Allow: allow}), v))
	if err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	n, err := p.New(of)
	if err == nil {
		err = n.Configure(ctx)
	}
	if err == nil && o.Principal == nil && len(o.AdminKeys) == 0 && !o.Open {
		err = wantKeys(ctx, n)
	}
	if err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	return &Server{of, n}, nil
}

// inner returns the options of the service.
func (o *Options) inner(e *inner.Engine, guard *egress.Guard, v *vault.Vault) assembly.Options {
	l := o.Limits.withDefaults()
	out := assembly.Options{
		Store: e.Store(), Guard: guard, Vault: v, Steps: e.Actions(), Alone: e.Alone(), Open: o.Open, Version: version(),
		ReadOnlyPages: o.ReadOnlyPages, MaxItems: l.Items, Metrics: o.Metrics, Logger: cmp.Or(o.Logger, slog.Default()),
		Server: server.Options{
			Prefix: o.Prefix, Authenticate: authenticate(o.Principal), Hosts: o.Hosts, Origins: o.Origins, MaxBody: l.Body, Memory: l.Memory,
			MaxUpload: l.Upload, Exports: l.Exports, Streams: l.Streams, LogRequests: o.LogRequests,
			Limits: access.NewLimits(access.LimitOptions{Rate: l.RequestsPerSecond, Uploads: l.Uploads}),
		},
	}
	if len(o.Hosts) == 0 && !o.Open {
		out.Server.Hosts = []string{"*"} // other sites know neither a key nor the cookie of the login
	}
	for _, k := range o.AdminKeys {
		out.AdminKeys = append(out.AdminKeys, vault.NewSecret(k))
	}
	return out
}

// wantKeys refuses a server that no one could use.
func wantKeys(ctx context.Context, n *assembly.Node) error {
	has, err := n.HasKeys(ctx)
	if err == nil && !has {
		err = errors.New("no API key exists; set Options.AdminKeys, Options.Principal, or Options.Open for development")
	}
	return err
}

// openVault makes the vault of a key. A key that sealed secrets of this store must be in it.
func openVault(ctx context.Context, key []byte, s store.Store) (*vault.Vault, error) {
	v, err := vault.Load(key)
	if err != nil {
		return nil, fmt.Errorf("server options: VaultKey: %w", err)
	}
	known, raw, err := vault.KnownKeys(ctx, s)
	if err != nil {
		return nil, err
	}
	id, left, err := reseal.Missing(ctx, s, v, known)
	if err != nil {
		return nil, err
	}
	if id != "" {
		return nil, fmt.Errorf("server options: VaultKey: secrets in the store are encrypted with key %s, which is missing (%s); "+
			"add the key, on a line after the newest", id, strings.Join(left.Names, ", "))
	}
	return v, v.NoteKeys(ctx, s, raw)
}

// VaultKeyFile reads the content of a key file for Options.VaultKey: a key of 32 bytes in hex or base64 on each line,
// the newest first. If the file does not exist, it is created with a new key that only the owner may read. Keep a
// backup: without it the secrets in the store stay sealed.
func VaultKeyFile(name string) ([]byte, error) {
	if err := vault.Create(name); err != nil {
		return nil, err
	}
	key, err := vault.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", name, err)
	}
	return key, nil
}

// version returns the version of weir in this program.
func version() string {
	const module = "github.com/weirhq/weir"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return cmp.Or(info.Main.Version, "unknown")
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.node.Handler().ServeHTTP(w, r) }

// Run runs the engine, and the work beside it: it reads sources, fires schedules, sends webhooks and removes what has
// expired. When ctx ends, streams end and changes are refused, so that [http.Server.Shutdown] need not wait for them;
// running tasks finish as Engine.Run says, and Run returns nil. Close the store afterwards.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.node.Drain)
	defer stop()
	working, fail := context.WithCancel(ctx)
	defer fail()
	beside, rest := context.WithCancel(context.WithoutCancel(ctx)) // tasks that finish may still need it
	ended := make(chan error)
	go func() {
		err := s.node.Run(beside)
		fail()
		ended <- err
	}()
	err := s.engine.Run(working)
	rest()
	return errors.Join(err, <-ended)
}
