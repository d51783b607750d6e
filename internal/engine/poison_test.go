//go:build unix

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv/life"
	"github.com/weirhq/weir/store/pebblestore"
)

// mostDeaths is how many processes one item can end before it fails: one without
// a mark, one as part of a task, one as a task of suspects, one as a single item,
// two alone.
const mostDeaths = 6

// An item whose handler ends the process fails as crashed_node after a bounded
// number of deaths; every other item is done. A supervisor starts the program again.
func TestPoisonIsContained(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kill   string
		poison []int
		deaths int
	}{
		{"os.Exit", "exit", []int{500}, mostDeaths},
		{"kill -9", "kill", []int{0}, mostDeaths},
		{"stack overflow", "stack", []int{999}, mostDeaths},
		{"three items of different batches", "exit", []int{3, 450, 451}, 3 * mostDeaths},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			deaths, failed := supervise(t, tt.kill, tt.poison)
			t.Logf("%d deaths", deaths)
			if deaths > tt.deaths {
				t.Errorf("%d deaths, want at most %d", deaths, tt.deaths)
			}
			if want := fmt.Sprint(tt.poison); failed != want {
				t.Errorf("failed as crashed_node: %s, want %s", failed, want)
			}
		})
	}
}

// supervise starts the program until it ends by itself, and returns how often it
// died and which items failed.
func supervise(t *testing.T, kill string, poison []int) (deaths int, failed string) {
	dir := t.TempDir()
	for {
		c := life.Start(t, "TestPoisonChild", envRole+"=poison", envDir+"="+dir, envKill+"="+kill, envPoison+"="+fmt.Sprint(poison))
		failed, err := c.Await("failed")
		if err == nil {
			if err := c.Wait(); err != nil {
				t.Fatal(err)
			}
			return deaths, failed
		}
		_ = c.Wait()
		if deaths++; deaths > 40 {
			t.Fatalf("still not contained after %d deaths", deaths)
		}
	}
}

// TestPoisonChild is what the children run; in any other process it does nothing.
func TestPoisonChild(*testing.T) {
	if os.Getenv(envRole) != "poison" {
		return
	}
	if err := runPoison(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const (
	poisonItems = 1000
	poisonBulks = 4 // they lie in different partitions of one process
	envKill     = "WEIR_POISON_KILL"
	envPoison   = "WEIR_POISON_ITEMS"
)

// runPoison is a program that embeds the engine, as it ships but for its log.
func runPoison(ctx context.Context) error {
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	st, err := pebblestore.Open(os.Getenv(envDir)+"/store", pebblestore.Options{Logger: quiet, Ballast: -1, MinFree: -1})
	if err != nil {
		return err
	}
	e, err := engine.Open(ctx, st, engine.Options{Logger: quiet})
	if err != nil {
		return err
	}
	chain := weir.Start(deadly())
	if err := e.Handle(chain); err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(running) }()
	failed, err := poisonRun(ctx, e, chain)
	cancel()
	if err := errors.Join(err, <-ended, st.Close()); err != nil {
		return err
	}
	say("failed", failed)
	return nil
}

// deadly is an action that some items end the process of.
func deadly() weir.Action[int, struct{}] {
	poison := strings.Fields(strings.Trim(os.Getenv(envPoison), "[]"))
	return weir.Action[int, struct{}]{Name: "deadly", BatchSize: 20, Handle: func(_ context.Context, b *weir.Batch[int, struct{}]) error {
		<-time.After(5 * time.Millisecond)
		for i, it := range b.Items() {
			if slices.Contains(poison, it.ID) {
				die(os.Getenv(envKill))
			}
			b.Done(i, struct{}{})
		}
		return nil
	}}
}

// die ends the process in a way that no recover can stop.
func die(how string) {
	switch how {
	case "exit":
		os.Exit(exitPoison)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stack":
		debug.SetMaxStack(1 << 20)
		_ = overflow(1)
	}
}

func overflow(n int) int {
	if n < 0 { // never: the stack ends before the numbers do
		return 0
	}
	return overflow(n+1) + n
}

// poisonRun submits all bulk actions, waits for them, and lists the items that failed as crashed_node.
func poisonRun(ctx context.Context, e *engine.Engine, chain weir.Chain[int, struct{}]) (string, error) {
	var bulks []*engine.BulkAction
	for no := range poisonBulks {
		items := make([]weir.Item[int], 0, poisonItems/poisonBulks)
		for i := no; i < poisonItems; i += poisonBulks {
			items = append(items, weir.Item[int]{ID: strconv.Itoa(i), Value: i})
		}
		b, err := engine.Submit(ctx, e, chain, engine.Items(items), weir.Spec{IdempotencyKey: strconv.Itoa(no)})
		if err != nil {
			return "", err
		}
		bulks = append(bulks, b)
	}
	failed := []int{}
	for _, b := range bulks {
		r, err := b.Wait(ctx)
		if err != nil {
			return "", err
		}
		if c := r.Counts; c.Done+c.Failed != poisonItems/poisonBulks {
			return "", fmt.Errorf("bulk action %s ended with %+v, want %d done or failed", b.ID(), c, poisonItems/poisonBulks)
		}
		for row, err := range r.Rows(ctx) {
			if err != nil {
				return "", err
			}
			if row.State == "done" {
				continue
			}
			if row.Code != "crashed_node" {
				return "", fmt.Errorf("item %s is %s, code %q", row.ID, row.State, row.Code)
			}
			n, err := strconv.Atoi(row.ID)
			if err != nil {
				return "", err
			}
			failed = append(failed, n)
		}
	}
	slices.Sort(failed)
	return fmt.Sprint(failed), nil
}
