package feed

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/execute"
)

// Kind is the type of server that a connection leads to.
type Kind string

// The kinds.
const (
	KindHTTP     Kind = "http"
	KindPostgres Kind = "postgres"
	KindS3       Kind = "s3"
	KindKafka    Kind = "kafka"
)

// Secret is a text that must not be printed. Nil is the empty text.
type Secret interface {
	Reveal() string
}

func reveal(s Secret) string {
	if s == nil {
		return ""
	}
	return s.Reveal()
}

// Connection is a server with its credentials. Everything except kind and address is optional.
type Connection struct {
	Name string
	Kind Kind
	// Address is a URL for http and s3 ("https://s3.example.com"), host:port for postgres, and
	// host:port,host:port for kafka.
	Address string

	User     string // postgres, kafka; for s3 the access key
	Password Secret // postgres, kafka; for s3 the secret key
	Token    Secret // s3: session token; http: bearer token
	Signing  Secret // http: Standard Webhooks secret, whsec_...
	Headers  map[string]Secret

	Database string // postgres
	Region   string // s3; looked up if empty
	// SASL is plain, scram-sha-256 or scram-sha-512, for kafka; empty means no authentication.
	SASL string

	// Plain switches TLS off, for postgres and kafka; for http and s3 the address decides.
	Plain bool
	// CA holds the certificates to trust, in PEM, instead of the system's.
	CA string
	// Certificate and PrivateKey, in PEM, authenticate this client.
	Certificate string
	PrivateKey  Secret
}

// connection returns the connection that a spec names and checks its kind.
func (find Lookup) connection(name, field string, kind Kind) (Connection, error) {
	c, err := find(name)
	if err != nil {
		return Connection{}, err
	}
	in := &weir.InputError{}
	if c.Kind != kind {
		in.Add("bad_connection", field, fmt.Sprintf("connection %q is of kind %s", name, c.Kind),
			"name a connection of kind "+string(kind))
		return Connection{}, in
	}
	if c.Address == "" {
		in.Add("bad_connection", field, fmt.Sprintf("connection %q has no address", name), "give it one")
	}
	if _, err := c.tls(""); err != nil {
		in.Add("bad_connection", field, fmt.Sprintf("connection %q: %v", name, err), "use certificates and key in PEM")
	}
	if kind == KindKafka && !slices.Contains([]string{"", "plain", "scram-sha-256", "scram-sha-512"}, c.SASL) {
		in.Add("bad_connection", field, fmt.Sprintf("connection %q has the unknown SASL mechanism %q", name, c.SASL),
			"use plain, scram-sha-256 or scram-sha-512")
	}
	return c, in.OrNil()
}

// ownTLS reports whether the connection has its own certificates.
func (c Connection) ownTLS() bool { return c.CA != "" || c.Certificate != "" }

// tls returns the TLS configuration for host.
func (c Connection) tls(host string) (*tls.Config, error) {
	o, err := egress.ParseTLS([]byte(c.CA), []byte(c.Certificate), []byte(reveal(c.PrivateKey)), false)
	if err != nil {
		return nil, err
	}
	conf := o.Config()
	conf.ServerName = host
	return conf, nil
}

// client returns the HTTP client for requests to c. Redirects are not followed.
func (w World) client(c Connection) (*http.Client, error) {
	client := *w.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	client.Timeout = 0 // bounded by the context of each page
	if c.ownTLS() {
		t, err := w.transport(c)
		if err != nil {
			return nil, err
		}
		client.Transport = t
	}
	return &client, nil
}

// transport returns a transport of the feed's own.
func (w World) transport(c Connection) (*http.Transport, error) {
	conf, err := c.tls("")
	if err != nil {
		return nil, err
	}
	t := execute.NewTransport()
	t.DialContext, t.TLSClientConfig = w.Dial, conf
	return t, nil
}

// dialTLS opens a connection and, unless c is plain, a TLS session in it.
func (w World) dialTLS(ctx context.Context, c Connection, network, address string) (net.Conn, error) {
	conn, err := w.Dial(ctx, network, address)
	if err != nil || c.Plain {
		return conn, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conf, err := c.tls(strings.TrimSuffix(host, "."))
	if err != nil {
		return nil, err
	}
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // never used
		return nil, err
	}
	return t, nil
}
