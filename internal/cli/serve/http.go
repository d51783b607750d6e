package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/server"
)

// door is an address at which the server answers.
type door struct {
	address   string // as it was asked for
	operators bool   // for the routes of operators
	listener  net.Listener
	tls       *certificate // nil: plain HTTP
	server    *http.Server
}

// openDoors listens on the addresses of the server, before anything else is
// done: a port that is taken is the most usual mistake.
func openDoors(ctx context.Context, c *config.Server, log *slog.Logger) (doors []*door, err error) {
	var cert *certificate
	if c.TLS.Cert != "" {
		if cert, err = newCertificate(c.TLS, log); err != nil {
			return nil, command.BadUsage("check tls.cert, tls.key and tls.client_ca", "TLS: %v", err)
		}
	}
	all := []*door{{address: string(c.Listen), tls: cert}}
	if c.AdminListen != c.Listen {
		all = append(all, &door{address: string(c.AdminListen), tls: cert, operators: true})
	}
	for _, d := range all {
		var conf net.ListenConfig
		if d.listener, err = conf.Listen(ctx, "tcp", d.address); err != nil {
			for _, open := range doors {
				err = errors.Join(err, open.listener.Close())
			}
			return nil, listenFailed(d, err)
		}
		doors = append(doors, d)
	}
	return doors, nil
}

func listenFailed(d *door, err error) error {
	flag := "--listen"
	if d.operators {
		flag = "--admin-listen"
	}
	var sys *os.SyscallError
	why := err
	if errors.As(err, &sys) {
		why = sys.Err
	}
	switch {
	case errors.Is(err, ErrAddressInUse):
		return command.BadUsage("stop what listens there, or choose another address with "+flag,
			"%s: another process listens on this address", d.address)
	case errors.Is(err, os.ErrPermission):
		return command.BadUsage("choose a port from 1024 on with "+flag, "%s: this user may not listen on this port", d.address)
	}
	return command.BadUsage("choose an address of this machine with "+flag, "%s: cannot listen there: %v", d.address, why)
}

// answer answers requests by h, until close. What goes wrong meanwhile is sent to failed.
func (d *door) answer(ctx context.Context, h http.Handler, log *slog.Logger, failed chan<- error) {
	if o, ok := h.(operated); ok && d.operators {
		h = o.Operators()
	}
	d.server = server.HTTP(context.WithoutCancel(ctx), h, log)
	serve := func() error { return d.server.Serve(d.listener) }
	if d.tls != nil {
		d.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: d.tls.config}
		serve = func() error { return d.server.ServeTLS(d.listener, "", "") }
	}
	go func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("answer requests at %s: %w", d.address, err)
		}
	}()
}

// close lets requests end until ctx does, and cuts off the rest.
func (d *door) close(ctx context.Context) error {
	err := d.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return d.server.Close()
	}
	return err
}

// url returns its URL.
func (d *door) url() string {
	scheme := "http"
	if d.tls != nil {
		scheme = "https"
	}
	host, _, _ := net.SplitHostPort(d.address) // package config has looked
	at := d.listener.Addr().(*net.TCPAddr)     // ListenConfig was asked for TCP
	if host == "" || at.IP.IsUnspecified() {
		host = "localhost"
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, host, at.Port)
}
