package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/vault"
	"golang.org/x/sync/errgroup"
)

// serverRig is a whole server on a store on disk, behind a socket on loopback.
type serverRig struct {
	*assembly.Node
	url  string
	stop func() error
}

// openServer starts a server whose steps first and second call an endpoint.
func openServer(ctx context.Context, dir, endpoint string) (*serverRig, error) {
	st, log, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	v, err := vault.New(vault.NewKey())
	if err != nil {
		return nil, err
	}
	o := assembly.Options{Store: st, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, Open: true,
		Alone: true, Logger: log}
	for _, name := range []string{"first", "second"} {
		o.Actions = append(o.Actions, api.Action{Name: name, URL: endpoint + "/" + name, Batch: 100})
	}
	n, e, err := assembly.Open(ctx, o, engine.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	g, ctx := errgroup.WithContext(ctx)
	web := &http.Server{Handler: n.Handler(), ReadHeaderTimeout: 5 * time.Second}
	g.Go(func() error { return e.Run(ctx) })
	g.Go(func() error { return n.Run(ctx) })
	g.Go(func() error {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return &serverRig{n, "http://" + l.Addr().String(), func() error {
		err := web.Close()
		cancel()
		return errors.Join(err, g.Wait(), st.Close())
	}}, nil
}

// until polls a bulk action until it has completed.
func (r *serverRig) until(ctx context.Context, id string) (api.BulkAction, error) {
	for {
		b, err := r.Service().Bulks.Get(ctx, id)
		if err != nil || b.State == api.Completed {
			return b, err
		}
		if b.State.Final() {
			return b, fmt.Errorf("%s is %s: %s", id, b.State, b.Reason)
		}
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
