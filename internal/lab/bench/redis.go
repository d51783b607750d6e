package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/redisstore"
)

// redisServer is a redis-server of a measurement's own, in a process that ends with it.
type redisServer struct {
	addr   string
	cmd    *exec.Cmd
	client rueidis.Client
}

// How a server keeps its log; the first is how redis-server is delivered, the last what mode disk requires.
const (
	logNone     = "no"
	logEverysec = "everysec"
	logAlways   = "always"
)

// startRedis starts a server on a free port and waits until it answers.
func startRedis(ctx context.Context, dir, syncs string) *redisServer {
	l := sure(new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"))
	addr := l.Addr().String()
	must(l.Close())
	_, port, _ := net.SplitHostPort(addr)
	args := []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--daemonize", "no"}
	if syncs != logNone {
		args = append(args, "--appendonly", "yes", "--appendfsync", syncs)
	}
	r := &redisServer{addr: addr, cmd: exec.CommandContext(ctx, "redis-server", args...)}
	must(r.cmd.Start())
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true,
			Dialer: net.Dialer{KeepAlive: time.Hour}, // no ping of this one is counted
		})
		if err == nil {
			r.client = c
			return r
		}
		if time.Now().After(deadline) {
			must(fmt.Errorf("redis-server at %s does not answer: %w", addr, err))
		}
	}
}

// stop ends the server; there is nothing to keep.
func (r *redisServer) stop() {
	r.client.Close()
	must(r.cmd.Process.Kill())
	_ = r.cmd.Wait() // it was killed
}

// info returns the lines of a section of INFO.
func (r *redisServer) info(ctx context.Context, section string) map[string]string {
	text := sure(r.client.Do(ctx, r.client.B().Info().Section(section).Build()).ToString())
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = value
		}
	}
	return out
}

// number returns a figure of INFO.
func (r *redisServer) number(ctx context.Context, section, name string) float64 {
	return sure(strconv.ParseFloat(r.info(ctx, section)[name], 64))
}

// open opens a store on the server, in the strongest mode that it can keep.
func (r *redisServer) open(ctx context.Context, syncs string) (*redisstore.Store, *slog.Logger) {
	mode := redisstore.Memory
	if syncs == logAlways {
		mode = redisstore.Disk
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return sure(redisstore.Open(ctx, redisstore.Options{Addresses: []string{r.addr}, Mode: mode, Logger: log})), log
}

// node runs an engine on the server until stop is called.
func (r *redisServer) node(ctx context.Context, syncs string, o engine.Options, chains ...raw) (e *engine.Engine, stop func()) {
	s, log := r.open(ctx, syncs)
	o.Logger = log
	e = sure(engine.Open(ctx, s, o))
	for _, c := range chains {
		must(e.Handle(c))
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(running) }()
	return e, func() {
		cancel()
		must(errors.Join(<-ended, s.Close()))
	}
}
