package dev

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/edge/direct"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// keepFor is how long the demo keeps what does not say otherwise. What is over is looked for every minute.
const keepFor = 8 * time.Hour

// cartsPath is where the server has a segment for the schedule of the story.
const cartsPath = "/demo/carts"

// options says what the demo shows beside the panel.
type options struct {
	// story keeps the pages moving, with notes that explain them.
	story bool
	// outage is the incident of the story.
	outage demo.Outage
}

// dev is the server of the demo.
type dev struct {
	local.Worker
	node *assembly.Node
	web  *http.Server // nil: nothing listens
	url  string
	// client speaks to the server without a connection.
	client *client.Client
	rest   context.CancelFunc
	kept   chan error
	// stopStory ends the story, if it was begun.
	stopStory func()
}

// openDev starts a server in memory, on this machine alone.
func openDev(ctx context.Context, listen string, o options) (*dev, error) {
	door, err := listenDev(ctx, listen)
	if err != nil {
		return nil, err
	}
	d, err := newDev(ctx, "http://"+door.Addr().String(), o)
	if err != nil {
		return nil, err
	}
	d.web = server.HTTP(context.WithoutCancel(ctx), d.handler(), slog.New(slog.DiscardHandler))
	go func() { _ = d.web.Serve(door) }() // it says nothing new when it is closed
	if o.story {
		err = d.tell(ctx, &story{service: d.node.Service(), client: d.client, carts: d.url + cartsPath})
	}
	return d, err
}

// newDev starts a node in memory. Nothing listens.
func newDev(ctx context.Context, url string, o options) (*dev, error) {
	log, s := slog.New(slog.DiscardHandler), memstore.New(memstore.Options{})
	v, err := vault.New(vault.NewKey())
	if err != nil {
		return nil, err
	}
	steps := demo.Actions(demo.Options{})
	if o.story {
		steps = append(steps, demo.Channels(demo.Options{}, o.outage)...)
	}
	n, e, err := assembly.Open(context.WithoutCancel(ctx), assembly.Options{
		Store: s, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, Steps: steps, Open: true, Tour: o.story,
		Version: command.Version(), Metrics: command.Metrics(), Logger: log,
	}, engine.Options{Logger: log, KeepFor: keepFor})
	if err != nil {
		return nil, err
	}
	d := &dev{Worker: local.Worker{Engine: e}, node: n, url: url, kept: make(chan error, 1), stopStory: func() {}}
	if d.client, err = client.New(client.Options{Server: d.url,
		HTTP: &http.Client{Transport: direct.Transport{Handler: n.Handler()}}}); err != nil {
		return nil, err
	}
	d.Start(ctx)
	beside, rest := context.WithCancel(context.WithoutCancel(ctx))
	d.rest = rest
	go func() { d.kept <- n.Run(beside) }()
	return d, nil
}

// handler answers requests: those to the node, and those of the schedule for the items of the story.
func (d *dev) handler() http.Handler {
	node := d.node.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == cartsPath {
			demo.Carts(w, r)
			return
		}
		node.ServeHTTP(w, r)
	})
}

// tell begins a story, which goes on until the server is closed.
func (d *dev) tell(ctx context.Context, s *story) error {
	if err := s.prepare(ctx); err != nil {
		d.close()
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() { defer close(over); s.run(ctx) }()
	d.stopStory = func() { cancel(); <-over }
	return nil
}

// listenDev listens at an address, or at the usual one if that is free.
func listenDev(ctx context.Context, address string) (net.Listener, error) {
	var conf net.ListenConfig
	if address != "" {
		at := config.Address("")
		if err := at.Set(address); err != nil {
			return nil, command.BadUsage("", "--listen: %v", err)
		}
		if !at.Local() {
			return nil, command.BadUsage("listen on 127.0.0.1, or use weir serve, which supports API keys",
				"--listen: other machines can reach %s, and the demo requires no key", address)
		}
		l, err := conf.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, command.BadUsage("choose another address with --listen", "%s: cannot listen there: %v", address, err)
		}
		return l, nil
	}
	l, err := conf.Listen(ctx, "tcp", "127.0.0.1:8080")
	if err != nil {
		l, err = conf.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	return l, err
}

// end stops the server, and lets running tasks finish.
func (d *dev) end() error {
	d.stopStory()
	d.node.Drain()
	err := d.Worker.End()
	d.close()
	return err
}

// close ends what listens and what runs beside requests.
func (d *dev) close() {
	d.stopStory()
	d.rest()
	if d.web != nil {
		_ = d.web.Close() // no client waits for a response any more
	}
	if d.kept != nil {
		<-d.kept
		d.kept = nil
	}
}
