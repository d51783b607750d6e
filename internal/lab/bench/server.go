package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/weirhq/weir"
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
	engine *engine.Engine
	url    string
	stop   func() error
}

// openServer starts a server whose steps first and second call an endpoint; others are its own.
func openServer(ctx context.Context, dir, endpoint string, steps ...weir.Step) *serverRig {
	st, log := openStore(dir)
	o := assembly.Options{Store: st, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}),
		Vault: sure(vault.New(vault.NewKey())), Open: true, Alone: true, Steps: steps, Logger: log}
	for _, name := range []string{"first", "second"} {
		o.Actions = append(o.Actions, api.Action{Name: name, URL: endpoint + "/" + name, Batch: 100})
	}
	n, e, err := assembly.Open(ctx, o, engine.Options{Logger: log})
	must(err)
	l := sure((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
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
	return &serverRig{n, e, "http://" + l.Addr().String(), func() error {
		err := web.Close()
		cancel()
		return errors.Join(err, g.Wait(), st.Close())
	}}
}

// until polls a bulk action until it is in one of some states.
func (r *serverRig) until(ctx context.Context, id string, states ...api.State) api.BulkAction {
	for {
		b := sure(r.Service().Bulks.Get(ctx, id))
		if slices.Contains(states, b.State) {
			return b
		}
		if b.State.Final() {
			must(fmt.Errorf("%s is %s: %s", id, b.State, b.Reason))
		}
		select {
		case <-ctx.Done():
			must(ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
