package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
	"github.com/weirhq/weir/store/redisstore"
)

// busy runs an engine on s with far more to do than its workers can, and returns
// when their number has grown for the first time. The engine runs until stop.
func busy(t *testing.T, s store.Store) (stop func()) {
	t.Helper()
	send := weir.Action[int, string]{
		Name: "send", BatchSize: 10, Resource: weir.Resource{Name: "send-message"},
		Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
			_ = command.Sleep(ctx, 100*time.Millisecond)
			b.DoneRest()
			return nil
		},
	}
	e, err := engine.Open(t.Context(), s, engine.Options{Partitions: 4, Slots: 16, Workers: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Handle(send); err != nil {
		t.Fatal(err)
	}
	w := local.Worker{Engine: e}
	w.Start(t.Context())
	for tenant := range 12 { // some of them in each partition
		items := make([]weir.Item[int], 8_000)
		for i := range items {
			items[i].ID = term.Number(i)
		}
		if _, err := engine.Submit(t.Context(), e, send, engine.Items(items), weir.Spec{Tenant: term.Number(tenant)}); err != nil {
			t.Fatal(err)
		}
	}
	awaitGrowth(t, e, weir.LaneID{Partition: 3, Resource: "send-message"})
	return func() {
		if err := w.End(); err != nil {
			t.Errorf("Run() = %v", err)
		}
	}
}

func awaitGrowth(t *testing.T, e *engine.Engine, lane weir.LaneID) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); ; {
		all, err := e.Operator().Decisions(t.Context(), lane, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(all, func(d weir.Decision) bool { return d.To > d.From }) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%v did not grow: %+v", lane, all)
		}
		if err := command.Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// fleet is the address of a Redis that a busy engine uses until the test ends.
func fleet(t *testing.T) (address string) {
	t.Helper()
	server := testenv.Redis(t)
	s, err := redisstore.Open(t.Context(), redisstore.Options{Addresses: []string{server.Addr}, Mode: redisstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // never fails
	t.Cleanup(busy(t, s))
	return "redis://" + server.Addr
}

// TestLanesOfAFleet runs scripts against an engine on a real Redis, and beside it
// a data directory in which an engine has run.
func TestLanesOfAFleet(t *testing.T) {
	address := fleet(t)
	dir := t.TempDir()
	s, err := pebblestore.Open(filepath.Join(dir, "store"), pebblestore.Options{MinFree: -1, Ballast: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	busy(t, s)()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: "testdata/fleet", UpdateScripts: os.Getenv("UPDATE") != "",
			Setup: func(env *testscript.Env) error {
				env.Vars = append(env.Vars, "NO_COLOR=1", "REDIS="+address, "DATA="+dir)
				return nil
			},
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		})
	})
	t.Run("watched on a terminal", func(t *testing.T) {
		env, scr, keys := terminal(t, "lanes", "--watch", "--redis", address)
		code := make(chan int)
		go func() { code <- Main(t.Context(), env) }()
		scr.Until(t, "send-message")
		scr.Until(t, "q quits")
		keys <- 'x' // means nothing
		scr.Until(t, "send-message\x1b[0m  ")
		keys <- 'q'
		if got := <-code; got != command.ExitOK {
			t.Errorf("exit code = %d\n%s", got, scr)
		}
	})
	t.Run("watched by a program", func(t *testing.T) {
		env, scr, _ := terminal(t, "lanes", "--watch", "-o", "json", "--redis", address)
		signals := make(chan os.Signal, 1)
		env.Terminal, env.Signals = nil, signals
		code := make(chan int)
		go func() { code <- Main(t.Context(), env) }()
		scr.Until(t, `"tasks_out_per_second"`) // of the second look
		signals <- os.Interrupt
		if got := <-code; got != command.ExitOK || strings.Count(scr.String(), "\n") < 2 {
			t.Errorf("exit code = %d, want 0 and a line for each look:\n%s", got, scr)
		}
	})
	t.Run("commands of the page on scaling", func(t *testing.T) { runPage(t, address) })
}

// typed is a line of a page that a reader could type.
var typed = regexp.MustCompile(`(?m)^weir (.*)$`)

// runPage runs every command of the page, one after the other.
func runPage(t *testing.T, address string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := typed.FindAllStringSubmatch(string(page), -1)
	if len(commands) < 10 {
		t.Fatalf("%d commands on the page; are they still written the same way?", len(commands))
	}
	for _, c := range commands {
		line, _, _ := strings.Cut(c[1], "  #")
		if strings.Contains(line, "--watch") {
			continue // does not end; shown above
		}
		env, scr, _ := terminal(t, words(line)...)
		env.Terminal = nil
		env.Getenv = func(name string) string { return map[string]string{"WEIR_REDIS": address}[name] }
		if got := Main(t.Context(), env); got != command.ExitOK {
			t.Errorf("weir %s exits with %d:\n%s", line, got, scr)
		}
	}
}

func TestThePageOnScalingTellsEveryReason(t *testing.T) {
	code, err := os.ReadFile("../core/scale/decision.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`Reason = "([a-z-]+)"`).FindAllStringSubmatch(string(code), -1)
	if len(reasons) < 20 {
		t.Fatalf("%d reasons found in the code; are they still written the same way?", len(reasons))
	}
	for _, r := range reasons {
		if !strings.Contains(string(page), "`"+r[1]+"`") {
			t.Errorf("the page does not tell what %q means", r[1])
		}
	}
}

// words splits a command as a shell would, if quotes are single and around whole words.
func words(line string) (all []string) {
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		all = append(all, strings.Trim(w, "'"))
	}
	return all
}
