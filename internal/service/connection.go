package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
)

// storedConnection is the record of a connection, with sealed secrets.
type storedConnection struct {
	api.Connection
	Set weir.Stamp `json:"set,omitzero"`
}

func (s *Service) connections() *records.Table[storedConnection] {
	return records.New[storedConnection](s.opts.Store, "connection")
}

// connection returns a function that finds the connections a tenant may use, with secrets opened.
func (s *Service) connection(tenant string) feed.Lookup {
	return func(name string) (feed.Connection, error) {
		c, err := s.findConnection(name)
		if errors.Is(err, weir.ErrNotFound) || err == nil && len(c.Tenants) > 0 && !slices.Contains(c.Tenants, tenant) {
			return feed.Connection{}, &weir.FieldError{Code: "unknown_connection", Field: "source.connection", Problem: fmt.Sprintf("unknown connection %q", name), Fix: "create it first, or name another"}
		}
		if err != nil {
			return feed.Connection{}, err
		}
		return feedConnection(c), nil
	}
}

func (s *Service) findConnection(name string) (api.Connection, error) {
	ctx, cancel := context.WithTimeout(s.life, 5*time.Second)
	defer cancel()
	e, err := s.connections().Get(ctx, name)
	if file := s.fileConnection(name); file != nil && errors.Is(err, weir.ErrNotFound) {
		return *file, nil
	}
	if err != nil {
		return api.Connection{}, err
	}
	c := e.Value.Connection
	for k, v := range c.Secret {
		if vault.IsSealed(v) {
			plain, err := s.opts.Vault.Open("connection/"+name+"/"+k, v)
			if err != nil {
				return c, fmt.Errorf("connection %q: %w", name, err)
			}
			c.Secret[k] = string(plain)
		}
	}
	return c, nil
}

// feedConnection converts a connection for package feed.
func feedConnection(c api.Connection) feed.Connection {
	out := feed.Connection{
		Name: c.Name, Kind: feed.Kind(c.Kind), Address: c.URL,
		User: c.Option["user"], Database: c.Option["database"], Region: c.Option["region"], SASL: c.Option["sasl"],
		Plain: c.Option["plain"] == "true", CA: c.Option["ca"], Certificate: c.Option["certificate"],
		Password: vault.NewSecret(c.Secret["password"]), Token: vault.NewSecret(c.Secret["token"]), Signing: vault.NewSecret(c.Secret["signing"]),
		PrivateKey: vault.NewSecret(c.Secret["private_key"]),
	}
	for k, v := range c.Secret {
		if name, ok := strings.CutPrefix(k, "header."); ok {
			if out.Headers == nil {
				out.Headers = map[string]vault.Secret{}
			}
			out.Headers[name] = vault.NewSecret(v)
		}
	}
	return out
}

// Brokers returns how to reach the brokers of a Kafka connection.
func (s *Service) Brokers(name string) ([]string, func(ctx context.Context, network, address string) (net.Conn, error), []kgo.Opt, error) {
	c, err := s.findConnection(name)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("connection %q: %w", name, err)
	}
	brokers, dial, sign := feedConnection(c).Brokers(s.world)
	return brokers, dial, sign, nil
}
