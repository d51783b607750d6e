package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/cli/config"
)

// certificate is the certificate of the server. Its files are checked when
// a client comes, at most once a second, and read again when they have changed.
type certificate struct {
	files config.TLS
	log   *slog.Logger

	mu     sync.Mutex
	now    *tls.Config
	seen   [3]stamp
	looked time.Time
}

// stamp tells a file from what it was before.
type stamp struct {
	changed time.Time
	size    int64
}

const lookAtCertificate = time.Second

func newCertificate(files config.TLS, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log, looked: time.Now(), seen: stamps(files)}
	var err error
	c.now, err = c.read()
	return c, err
}

func stamps(files config.TLS) (all [3]stamp) {
	for i, path := range []string{files.Cert, files.Key, files.ClientCA} {
		if st, err := os.Stat(path); err == nil {
			all[i] = stamp{st.ModTime(), st.Size()}
		}
	}
	return all
}

func (c *certificate) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return nil, err
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if c.files.ClientCA == "" {
		return conf, nil
	}
	raw, err := os.ReadFile(c.files.ClientCA)
	if err != nil {
		return nil, err
	}
	conf.ClientCAs, conf.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !conf.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, errors.New(c.files.ClientCA + " holds no certificate")
	}
	return conf, nil
}

// config is for a client that comes now. Files that cannot be used, as while
// they are being replaced, change nothing.
func (c *certificate) config(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	return c.at(hello.Context(), time.Now()), nil
}

func (c *certificate) at(ctx context.Context, now time.Time) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < lookAtCertificate {
		return c.now
	}
	c.looked = now
	seen := stamps(c.files)
	if seen == c.seen {
		return c.now
	}
	c.seen = seen
	next, err := c.read()
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelError, "new certificate cannot be used, the former one stays", slog.Any("error", err))
		return c.now
	}
	c.now = next
	c.log.LogAttrs(ctx, slog.LevelInfo, "certificate read again")
	return c.now
}
