//go:build unix

package serverkill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
	"github.com/weirhq/weir/store/redisstore"
	"golang.org/x/sync/errgroup"
)

// The child is this test binary again; what it shall do is in its environment.
const (
	envDir    = "WEIR_SERVERKILL_DIR"   // where its store is
	envRedis  = "WEIR_SERVERKILL_REDIS" // address of the Redis that it shares; empty: its store is its own
	envWorld  = "WEIR_SERVERKILL_WORLD" // URL of what it calls
	childTest = "TestServerChild"
)

// TestServerChild is not a test of its own: it is the server that the others
// kill, and does nothing in any other process.
func TestServerChild(*testing.T) {
	dir := os.Getenv(envDir)
	if dir == "" {
		return
	}
	if err := serve(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a server until its standard input ends: its parent closes it, or dies.
func serve(dir string) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	st, err := openStore(dir, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	v, err := vault.LoadOrCreate(dir)
	if err != nil {
		return err
	}
	n, e, err := assembly.Open(context.Background(), assembly.Options{
		Store: st, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, Open: true, Alone: os.Getenv(envRedis) == "",
		Actions: actions(os.Getenv(envWorld)), Logger: log, Server: server.Options{SlowBody: 5 * time.Second},
	}, engine.Options{Logger: log, Partitions: 2, Slots: 8, LeaseFor: 2 * time.Second})
	if err != nil {
		return err
	}
	return answer(e, n)
}

func openStore(dir string, log *slog.Logger) (store.Store, error) {
	if redis := os.Getenv(envRedis); redis != "" {
		return redisstore.Open(context.Background(), redisstore.Options{Addresses: []string{redis}, Mode: redisstore.Memory, Logger: log})
	}
	return pebblestore.Open(dir, pebblestore.Options{Logger: log, Ballast: -1, MinFree: -1})
}

// answer runs engine, keepers and the listener.
func answer(e *engine.Engine, n *assembly.Node) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	srv := &http.Server{Handler: n.Handler(), ReadHeaderTimeout: time.Second}
	g.Go(func() error { return e.Run(ctx) })
	g.Go(func() error { return n.Run(ctx) })
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	fmt.Println("ready", "http://"+l.Addr().String())
	g.Go(func() error {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return srv.Close()
	})
	return g.Wait()
}

// The steps of every bulk action here.
const (
	award   = "award"
	message = "message"
)

// actions returns those that the configuration of the server has.
func actions(world string) (list []api.Action) {
	for _, name := range []string{award, message} {
		list = append(list, api.Action{
			Name: name, URL: world + "/actions/" + name, Batch: 100, Timeout: api.Duration(5 * time.Second),
			Retry: &api.Retry{MaxAttempts: 20, Base: api.Duration(20 * time.Millisecond), Cap: api.Duration(200 * time.Millisecond)},
		})
	}
	return list
}

// steps returns the chain of every bulk action: the second step is told what the first one answered.
func steps() []api.Step {
	return []api.Step{
		{Action: award, Input: map[string]string{"user": "id"}},
		{Action: message, Input: map[string]string{"user": "id", "receipt": "steps.award.output.receipt"}},
	}
}

// text returns the JSON of a value that has one.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
