package serve

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// newNode prepares the server of the settings, without its engine.
func newNode(ctx context.Context, env *command.Env, c *config.Server, s store.Store, reg *prometheus.Registry, tracer weir.Tracer,
	log *slog.Logger, acceptLoss bool) (*assembly.Prepared, error) {
	allow, err := egress.ParseAllow("egress.allow", c.Egress.Allow)
	if err != nil {
		return nil, command.BadUsage("", "%v", err)
	}
	guard := egress.New(egress.Policy{Allow: allow, Refused: func(e *egress.NotAllowedError) {
		log.LogAttrs(ctx, slog.LevelWarn, "connection not allowed", slog.String("address", e.Address.String()),
			slog.String("reason", e.Reason))
	}})
	v, err := openVault(ctx, c, s, acceptLoss)
	if err != nil {
		return nil, err
	}
	steps, err := programSteps(env, c)
	if err != nil {
		return nil, err
	}
	o := assembly.Options{
		Store: s, Guard: guard, Vault: v, Steps: steps, Open: !c.Reachable() && c.AdminKey.IsZero(),
		Alone: len(c.Redis) == 0, ReadOnlyPages: c.UIReadOnly, Version: command.Version(), MaxItems: int64(c.Limits.ItemCount), Metrics: reg, Tracer: tracer, Logger: log,
		Server: server.Options{
			Prefix: c.Prefix, Hosts: c.AllowedHosts, Origins: c.AllowedOrigins, MaxBody: int64(c.Limits.Body), Memory: int64(c.Limits.Memory),
			MaxUpload: int64(c.Limits.Upload), Exports: c.Limits.Exports, Streams: c.Limits.Streams, LogRequests: true,
			Limits: access.NewLimits(access.LimitOptions{Rate: c.Limits.RequestsPerSecond, Uploads: c.Limits.Uploads}),
		},
	}
	file := &assembly.File{Tenants: map[string]weir.TenantLimits{}}
	if c.HasFile() {
		o.File = file
	}
	if !c.AdminKey.IsZero() {
		o.AdminKeys = []vault.Secret{c.AdminKey}
	}
	if o.Actions, file.Resources, err = fileActions(c); err != nil {
		return nil, err
	}
	if o.Connections, err = fileConnections(c); err != nil {
		return nil, err
	}
	for name, t := range c.Tenants {
		file.Tenants[name] = weir.TenantLimits{Weight: float64(t.Weight), MaxTasks: t.MaxTasks, MaxPending: int64(t.MaxPending)}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Webhooks)) {
		w := c.Webhooks[name]
		if w.Topic != "" {
			o.Topics = append(o.Topics, assembly.Topic{Topic: w.Topic, Connection: w.Connection, Tenant: w.Tenant, Events: w.Events})
			continue
		}
		file.Webhooks = append(file.Webhooks, callback.FileEndpoint{Name: name, URL: w.URL, Tenant: w.Tenant, Types: w.Events,
			Secret: w.Secret.Reveal()})
	}
	n, err := assembly.Prepare(ctx, o)
	if err != nil {
		return nil, command.BadUsage("", "%v", err)
	}
	return n, nil
}

// programSteps are the actions of the program itself. Those for demonstrations give
// way to actions of the file with their names.
func programSteps(env *command.Env, c *config.Server) ([]weir.Step, error) {
	for _, st := range env.Steps {
		if _, twice := c.Actions[st.Name]; twice {
			return nil, command.BadUsage("", "actions.%s: the program has an action of this name; give the one in the file "+
				"another name", st.Name)
		}
	}
	demos := slices.DeleteFunc(demo.Actions(demo.Options{}), func(st weir.Step) bool { _, own := c.Actions[st.Name]; return own })
	return slices.Concat(demos, env.Steps), nil
}

// fileActions are the actions of weir.yaml, and the resources that they use.
func fileActions(c *config.Server) (actions []api.Action, resources []weir.Resource, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Actions)) {
		s := c.Actions[name]
		a := api.Action{
			Name: name, URL: s.URL, UndoURL: s.UndoURL, Batch: int(s.Batch), Timeout: api.Duration(s.Timeout), Resource: s.Resource,
		}
		if a.Header, err = s.Headers(); err != nil {
			return nil, nil, command.BadUsage("", "actions.%s: %v", name, err)
		}
		if s.SecretFile != "" {
			if a.Secret, err = command.ReadSecret("secret file", s.SecretFile); err != nil {
				return nil, nil, err
			}
		}
		if n := s.Retries.Attempts(); n != 0 {
			a.Retry = &api.Retry{MaxAttempts: n}
		}
		if s.Resource == "" && (s.Rate != 0 || s.Concurrency != 0 || s.Pacing != "") {
			resources = append(resources, weir.Resource{Name: name, Rate: weir.Rate(s.Rate), Concurrency: int(s.Concurrency),
				Pacing: weir.Pacing(s.Pacing)})
		}
		actions = append(actions, a)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources)) {
		r := c.Resources[name]
		resources = append(resources, weir.Resource{Name: name, Rate: weir.Rate(r.Rate), Concurrency: int(r.Concurrency),
			Pacing: weir.Pacing(r.Pacing)})
	}
	return actions, resources, nil
}

// fileConnections are the connections of weir.yaml, with their secrets.
func fileConnections(c *config.Server) (out []api.Connection, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Connections)) {
		x := c.Connections[name]
		conn := api.Connection{
			Name: name, Kind: x.Kind, URL: x.Address, Tenants: x.Tenants,
			Option: map[string]string{"user": x.User, "database": x.Database, "region": x.Region, "sasl": x.SASL},
			Secret: map[string]string{"password": x.Password.Reveal(), "token": x.Token.Reveal(), "signing": x.SigningSecret.Reveal()},
		}
		if x.Plain {
			conn.Option["plain"] = "true"
		}
		for option, file := range map[string]string{"ca": x.TLS.CA, "certificate": x.TLS.Cert} {
			if conn.Option[option], err = fileText(file); err != nil {
				return nil, command.BadUsage("", "connections.%s: %v", name, err)
			}
		}
		if conn.Secret["private_key"], err = fileText(x.TLS.Key); err != nil {
			return nil, command.BadUsage("", "connections.%s: %v", name, err)
		}
		for k, v := range x.Header {
			conn.Secret["header."+k] = v
		}
		for k, file := range x.HeaderFile {
			if conn.Secret["header."+k], err = command.ReadSecret("secret file", file); err != nil {
				return nil, err
			}
		}
		out = append(out, conn)
	}
	return out, nil
}

// answering is a node as the doors use it.
type answering struct {
	*assembly.Node
	apart bool // routes of operators have a door of their own
}

// ServeHTTP implements http.Handler.
func (a answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.apart {
		a.Public().ServeHTTP(w, r)
		return
	}
	a.Handler().ServeHTTP(w, r)
}

// Operators has all routes.
func (a answering) Operators() http.Handler { return a.Handler() }

// nodeParts are the parts of a whole server.
func nodeParts(acceptLoss bool) parts {
	p := parts{metrics: command.Metrics()}
	p.node = func(ctx context.Context, env *command.Env, c *config.Server, s store.Store,
		tracer weir.Tracer, log *slog.Logger) (*assembly.Prepared, error) {
		return newNode(ctx, env, c, s, p.metrics, tracer, log, acceptLoss)
	}
	return p
}

// answering has a node answer requests, once the engine is there.
func (s *serving) answering(p *assembly.Prepared) newHandler {
	return func(ctx context.Context, _ *config.Server, e *engine.Engine, _ store.Store, _ *slog.Logger) (http.Handler,
		func(context.Context) error, error) {
		n, err := p.New(e)
		if err != nil {
			return nil, nil, command.BadUsage("", "%v", err)
		}
		brief, cancel := context.WithTimeout(ctx, configureFor)
		defer cancel()
		if err := n.Configure(brief); err != nil {
			return nil, nil, command.Other(err, "look at the store")
		}
		context.AfterFunc(ctx, n.Drain)
		return answering{n, len(s.doors) > 1}, n.Run, nil
	}
}

// configureFor limits how long writing the configuration to the store may take.
const configureFor = 10 * time.Second

// fileText returns the content of a file of the configuration; empty if no file is named.
func fileText(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	raw, err := os.ReadFile(path)
	return string(raw), err
}
