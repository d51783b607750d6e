package cli

import (
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// TestServerScripts runs the scripts of what a server is started with. They have
// addresses that are free, and Redis servers of several kinds.
func TestServerScripts(t *testing.T) {
	locked := testenv.Redis(t)
	locked.Do("CONFIG", "SET", "requirepass", "planted-password")
	vars := []string{
		"NO_COLOR=1",
		"REDIS=redis://" + testenv.Redis(t).Addr,
		"EVICTING=redis://" + testenv.Redis(t, "maxmemory-policy", "allkeys-lru").Addr,
		"LOCKED=redis://" + locked.Addr,
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"ADDRESS", "OTHER"} {
				a, err := clitest.FreeAddress(env.T().(testing.TB).Context())
				if err != nil {
					return err
				}
				env.Vars = append(env.Vars, name+"="+a)
			}
			env.Vars = append(env.Vars, vars...)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "term": terminate, "answers": answers, "hide": hide, "keep": keep, "users": users,
		},
	})
}

// answers waits until a server answers, and wants the status: answers 200 http://...
func answers(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(60 * time.Second); ; {
		a, err := client.Get(args[1])
		if err == nil {
			_ = a.Body.Close()
			if a.StatusCode != want {
				ts.Fatalf("%s answers %s, want %d", args[1], a.Status, want)
			}
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("%s does not answer: %v", args[1], err)
		}
	}
}

// hide writes the last stdout into a file, without the name of the script's directory and what depends on its length.
func hide(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("WORK"), "WORK")
	text = regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
