//go:build unix

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/internal/testkit/testenv/life"
	"github.com/weirhq/weir/store/redisstore"
)

const (
	poisonNodes = 3
	poisonWaits = 2 * time.Minute // a busy machine takes longer; about 10 s are usual
	envRedis    = "WEIR_POISON_REDIS"
	exitPoison  = 7  // of a process that an item ends by os.Exit
	exitKilled  = -1 // of one that it ends by a signal
)

// poisonShared has the least lease, so that a dead node is noticed soon. All else is the default.
var poisonShared = engine.Options{LeaseFor: time.Second}

// Three nodes share a Redis. An item that ends every node that runs it is contained
// like in a single process: the marks of a dead node reach the one that takes over.
func TestPoisonIsContainedOnNodesThatShareAStore(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kill   string
		poison []int
	}{
		{"one item", "exit", []int{500}},
		{"two items of different bulk actions", "kill", []int{450, 501}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			deaths, failed := superviseNodes(t, tt.kill, tt.poison)
			t.Logf("%d deaths in %v", deaths, time.Since(began))
			if most := len(tt.poison) * mostDeaths; deaths > most {
				t.Errorf("%d deaths, want at most %d", deaths, most)
			}
			if want := fmt.Sprint(tt.poison); failed != want {
				t.Errorf("failed as crashed_node: %s, want %s", failed, want)
			}
		})
	}
}

// superviseNodes starts every node that dies again until all bulk actions have ended,
// and returns how many died and which items failed.
func superviseNodes(t *testing.T, kill string, poison []int) (deaths int, failed string) {
	redis := testenv.Redis(t)
	died := make(chan int)
	nodes := make([]*life.Process, poisonNodes)
	launch := func(i int) {
		p := life.Start(t, "TestPoisonNode", envRole+"=poison-node", envRedis+"="+redis.Addr, envKill+"="+kill, envPoison+"="+fmt.Sprint(poison))
		nodes[i] = p
		go func() {
			_ = p.Wait()
			select {
			case died <- i:
			case <-t.Context().Done():
			}
		}()
	}
	for i := range nodes {
		launch(i)
	}
	ended := submitPoison(t, redis.Addr)
	for {
		select {
		case i := <-died:
			if err := nodes[i].Wait(); life.Code(err) != exitPoison && life.Code(err) != exitKilled {
				t.Fatalf("node %d did not end by an item: %v", i, err)
			}
			if deaths++; deaths > 40 {
				t.Fatalf("still not contained after %d deaths", deaths)
			}
			launch(i)
		case r := <-ended:
			if r.err != nil {
				t.Fatalf("after %d deaths: %v", deaths, r.err)
			}
			for i, p := range nodes {
				if err := p.Stop(); err != nil {
					t.Errorf("node %d was told to stop: %v", i, err)
				}
			}
			return deaths, r.failed
		}
	}
}

// poisonEnd is how all bulk actions ended.
type poisonEnd struct {
	failed string
	err    error
}

// submitPoison submits from an engine that runs nothing, and tells how it ended.
func submitPoison(t *testing.T, addr string) <-chan poisonEnd {
	ended := make(chan poisonEnd, 1)
	ctx, cancel := context.WithTimeout(t.Context(), poisonWaits)
	go func() {
		defer cancel()
		st, e, c, err := openPoison(ctx, addr)
		if err != nil {
			ended <- poisonEnd{err: err}
			return
		}
		failed, err := poisonRun(ctx, e, c)
		ended <- poisonEnd{failed, errors.Join(err, st.Close())}
	}()
	return ended
}

// openPoison opens the shared store and an engine on it that knows the deadly action.
func openPoison(ctx context.Context, addr string) (*redisstore.Store, *engine.Engine, weir.Chain[int, struct{}], error) {
	c := weir.Start(deadly())
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	st, err := redisstore.Open(ctx, redisstore.Options{Addresses: []string{addr}, Mode: redisstore.Memory, Logger: quiet})
	if err != nil {
		return nil, nil, c, err
	}
	o := poisonShared
	o.Logger = quiet
	e, err := engine.Open(ctx, st, o)
	if err == nil {
		err = e.Handle(c)
	}
	if err != nil {
		return nil, nil, c, errors.Join(err, st.Close())
	}
	return st, e, c, nil
}

// TestPoisonNode is what the nodes run; in any other process it does nothing.
func TestPoisonNode(*testing.T) {
	if os.Getenv(envRole) != "poison-node" {
		return
	}
	if err := runPoisonNode(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runPoisonNode runs until its standard input ends.
func runPoisonNode(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, e, _, err := openPoison(ctx, os.Getenv(envRedis))
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return errors.Join(e.Run(ctx), st.Close())
}
