package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// picky is an action that fails items whose document has the word bad in it, and takes back what it did.
func picky() weir.Step {
	act := weir.Action[json.RawMessage, json.RawMessage]{
		Name: "picky", BatchSize: 10, Retry: weir.Backoff{MaxAttempts: 1},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				if strings.Contains(string(b.Item(i).Value), "bad") {
					b.Fail(i, "is_bad", fmt.Errorf("account %d is bad", i))
					continue
				}
				b.Done(i, json.RawMessage(`{"ok":true}`))
			}
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			for i := range b.Len() {
				b.Done(i, struct{}{})
			}
			return nil
		},
	}
	return weir.RawStep(act)
}

// startNode runs a server in memory until the returned function is called.
func startNode(ctx context.Context, o assembly.Options) (url string, stop func() error, err error) {
	s := memstore.New(memstore.Options{})
	log := slog.New(slog.DiscardHandler)
	if o.Vault, err = vault.New(vault.NewKey()); err != nil {
		return "", nil, err
	}
	o.Store, o.Guard, o.Logger = s, egress.New(egress.Policy{Allow: egress.Loopback()}), log
	o.Steps = append(demo.Actions(demo.Options{NoLatency: true, NoFaults: true}), picky())
	n, e, err := assembly.Open(ctx, o, engine.Options{Logger: log, Partitions: 2})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- n.Run(ctx) }()
	web := httptest.NewServer(n.Handler())
	return web.URL, func() error {
		n.Server().Drain()
		web.Close()
		cancel()
		return errors.Join(<-ended, <-ended, s.Close())
	}, nil
}

// TestRemoteScripts runs the scripts of the commands that ask a server. Each has one of its own.
func TestRemoteScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/remote", UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			if err := setup(env); err != nil {
				return err
			}
			url, stop, err := startNode(env.T().(testing.TB).Context(), assembly.Options{Open: true})
			if err != nil {
				return err
			}
			env.Defer(func() {
				if err := stop(); err != nil {
					env.T().(testing.TB).Error(err)
				}
			})
			env.Values["ctx"] = env.T().(testing.TB).Context()
			env.Vars = append(env.Vars, "WEIR_SERVER="+url, "NEXTYEAR="+time.Now().AddDate(1, 0, 0).Format("2006"), "XDG_CONFIG_HOME="+env.WorkDir+"/config", "HOME="+env.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "users": users, "lines": countLines, "service": putAddress, "term": terminate, "keep": keep, "norm": norm, "called": called, "settle": settle, "mode": mode, "locked": locked, "seenlane": seenLane,
		},
	})
}

// What differs between two runs against a server, and what is written instead.
var differsThere = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`itm_[0-9a-z]{26}-`), "itm_ID-"},
	{regexp.MustCompile(`\b(ba|key|sch|whk|wh|ep|dlv|del|evt|aud|req|tsk)_[0-9a-zA-Z]{20,}`), "${1}_ID"},
	{regexp.MustCompile(`wk_[0-9a-zA-Z_]{20,}`), "wk_KEY"},
	{regexp.MustCompile(`whsec_[0-9a-zA-Z+/=]{20,}`), "whsec_SECRET"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "http://HOST"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`finished in [^,]*,`), "finished in SPAN,"},
	{regexp.MustCompile(`(p\d\d|after|elapsed|in|took) +[\d.]+(?:µs|ms|s|m\d+s)`), "$1 SPAN"},
	{regexp.MustCompile(`(p99 SPAN +)[\d,.e+]+/s`), "${1}RATE"},
	{regexp.MustCompile(`attempts \d+   calls \d+   (p50|[\d,.]+/s).*`), "attempts N …"},
	{regexp.MustCompile(`(?m)^ +waited on .*\n`), ""},
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

func normalised(text string) string {
	for _, d := range differsThere {
		text = d.what.ReplaceAllString(text, d.as)
	}
	return text
}

// norm writes the last stdout or stderr into a file, without what differs between runs: norm stdout FILE.
func norm(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(normalised(ts.ReadFile(args[0]))), 0o600))
}

// keep puts the first line of the last stdout into a variable.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	if line = strings.TrimSpace(line); line == "" {
		ts.Fatalf("nothing is on stdout")
	}
	ts.Setenv(args[0], line)
}

// settle waits until no bulk action of the server runs.
func settle(ts *testscript.TestScript, _ bool, _ []string) {
	c, err := client.New(client.Options{Server: ts.Getenv("WEIR_SERVER")})
	ts.Check(err)
	defer c.Close()
	ctx := ts.Value("ctx").(context.Context)
	for b, err := range c.List(ctx, client.Filter{State: api.Running}) {
		ts.Check(err)
		for _, err := range c.Watch(ctx, b.ID) {
			ts.Check(err)
		}
	}
}

// seenLane waits until a node has told of a lane: it looks once a second.
func seenLane(ts *testscript.TestScript, _ bool, args []string) {
	c, err := client.New(client.Options{Server: ts.Getenv("WEIR_SERVER")})
	ts.Check(err)
	defer c.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); ; {
		for l, err := range c.Lanes(ts.Value("ctx").(context.Context)) {
			ts.Check(err)
			if l.Lane == args[0] {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("nobody tells of %s", args[0])
		}
	}
}

// locked starts a server at $LOCKED that wants a key, which is in key.txt.
func locked(ts *testscript.TestScript, _ bool, _ []string) {
	key := vault.NewSecret(rand.Text() + rand.Text())
	url, stop, err := startNode(ts.Value("ctx").(context.Context), assembly.Options{AdminKeys: []vault.Secret{key}})
	ts.Check(err)
	ts.Defer(func() { ts.Check(stop()) })
	ts.Setenv("LOCKED", url)
	ts.Check(os.WriteFile(ts.MkAbs("key.txt"), []byte(key.Reveal()+"\n"), 0o600))
}

// mode wants the permissions of a file: mode 600 FILE.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", st.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
