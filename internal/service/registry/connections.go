package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
)

// Connections is the registry of connections: those of the configuration file, and those created
// over the API, which take precedence.
type Connections struct {
	life  context.Context // bounds reads for sources, which have no context
	began time.Time
	guard *egress.Guard
	vault *vault.Vault
	table *records.Table[storedConnection]
	file  []api.Connection // never changes
	world feed.World
}

// NewConnections returns the registry of connections; ctx bounds reads for sources.
func NewConnections(ctx context.Context, o Options) *Connections {
	return &Connections{
		life: ctx, began: time.Now().UTC(), guard: o.Guard, vault: o.Vault,
		table: records.New[storedConnection](o.Store, "connection"), file: o.Connections,
		world: feed.World{Client: o.Guard.Client(30 * time.Second), Dial: o.Guard.DialContext, Now: time.Now},
	}
}

// Open opens a source for a tenant.
func (s *Connections) Open(n *stored.Spec, tenant string) (feed.Feed, error) {
	spec, err := feedSpec(n)
	if err != nil {
		return nil, err
	}
	return feed.Open(spec, s.lookup(tenant), s.world)
}

// Check checks a source for a tenant without connecting to it.
func (s *Connections) Check(n *stored.Spec, tenant string) error {
	if g := n.Source.Segment; g != nil {
		if _, err := s.guard.CheckURL("source.segment.url", g.URL); err != nil {
			return err
		}
	}
	f, err := s.Open(n, tenant)
	if err != nil {
		return err
	}
	return f.Close()
}

// feedSpec converts a source for package feed, which uses the stored names.
func feedSpec(n *stored.Spec) (spec feed.Spec, err error) {
	raw, err := json.Marshal(n.Source)
	if err == nil {
		err = json.Unmarshal(raw, &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("source: %w", err)
	}
	spec.ID, spec.SkipBad = n.ItemID, n.OnBadLine == "record"
	return spec, nil
}

// lookup returns a function that finds the connections a tenant may use, with secrets opened.
func (s *Connections) lookup(tenant string) feed.Lookup {
	return func(name string) (feed.Connection, error) {
		c, err := s.find(name)
		if errors.Is(err, weir.ErrNotFound) || err == nil && len(c.Tenants) > 0 && !slices.Contains(c.Tenants, tenant) {
			return feed.Connection{}, &weir.FieldError{Code: "unknown_connection", Field: "source.connection",
				Problem: fmt.Sprintf("unknown connection %q", name), Fix: "create it first, or name another"}
		}
		if err != nil {
			return feed.Connection{}, err
		}
		return feedConnection(c), nil
	}
}

func (s *Connections) find(name string) (api.Connection, error) {
	ctx, cancel := context.WithTimeout(s.life, 5*time.Second)
	defer cancel()
	e, err := s.table.Get(ctx, name)
	if file := s.inFile(name); file != nil && errors.Is(err, weir.ErrNotFound) {
		return *file, nil
	}
	if err != nil {
		return api.Connection{}, err
	}
	c := e.Value.api()
	c.Secret, err = openAll(s.vault, "connection/"+name, c.Secret)
	return c, err
}

// feedConnection converts a connection for package feed.
func feedConnection(c api.Connection) feed.Connection {
	out := feed.Connection{
		Name: c.Name, Kind: feed.Kind(c.Kind), Address: c.URL,
		User: c.Option["user"], Database: c.Option["database"], Region: c.Option["region"], SASL: c.Option["sasl"],
		Plain: c.Option["plain"] == "true", CA: c.Option["ca"], Certificate: c.Option["certificate"],
		Password: vault.NewSecret(c.Secret["password"]), Token: vault.NewSecret(c.Secret["token"]),
		Signing:    vault.NewSecret(c.Secret["signing"]),
		PrivateKey: vault.NewSecret(c.Secret["private_key"]),
	}
	for k, v := range c.Secret {
		if name, ok := strings.CutPrefix(k, "header."); ok {
			if out.Headers == nil {
				out.Headers = map[string]feed.Secret{}
			}
			out.Headers[name] = vault.NewSecret(v)
		}
	}
	return out
}

// Brokers returns how to reach the brokers of a Kafka connection.
func (s *Connections) Brokers(name string) ([]string,
	func(ctx context.Context, network, address string) (net.Conn, error), []kgo.Opt, error) {
	c, err := s.find(name)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("connection %q: %w", name, err)
	}
	brokers, dial, sign := feedConnection(c).Brokers(s.world)
	return brokers, dial, sign, nil
}
