package docstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/pebblestore"
)

// The hosts that the pages speak of.
const (
	weirHost   = "localhost:8080"
	walletHost = "localhost:9000"
)

// TestTheGuidesPrintWhatTheySay types every command of the guides and compares
// what is printed, but for ids, times and speeds.
func TestTheGuidesPrintWhatTheySay(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	for _, page := range guides {
		t.Run(page, func(t *testing.T) { play(t, page) })
	}
}

func play(t *testing.T, page string) {
	n := demoNode(t)
	wallet := httptest.NewServer(http.HandlerFunc(award))
	t.Cleanup(wallet.Close)
	hosts := map[string]string{weirHost: strings.TrimPrefix(n.URL, "http://"), walletHost: strings.TrimPrefix(wallet.URL, "http://")}
	dir, files := t.TempDir(), map[string]string{}
	c := &curl{ctx: t.Context(), files: files, dir: dir, hosts: hosts}
	s := &shell{vars: map[string]string{}, files: files, programs: map[string]func([]string) (string, error){
		"curl": c.run, "weir": func(args []string) (string, error) { return weirCommand(t, args, dir, n.URL) },
	}}
	text := Read(t, page)
	all, printed := commands(text), map[*command]string{}
	for _, cmd := range all {
		out, err := s.run(cmd)
		if err = errors.Join(err, save(dir, files)); err != nil {
			t.Fatalf("%s:%d: %s: %v", page, cmd.line, cmd.text, err)
		}
		was := strings.Join(cmd.output, "\n")
		if printed[cmd] = was; same(out) == same(was) {
			continue
		}
		printed[cmd] = secrets.ReplaceAllString(out, "${1}_…")
		if !Update() {
			t.Errorf("%s:%d: %s prints\n%s\nand the page says\n%s", page, cmd.line, cmd.text, strings.TrimSpace(out), was)
		}
	}
	if Update() {
		Write(t, page, rewrite(text, all, printed))
	}
}

// demoNode starts a node on a disk, with the actions of the demo.
func demoNode(t *testing.T) *nodetest.Node {
	t.Helper()
	kept, err := pebblestore.Open(t.TempDir(), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	return nodetest.Start(t, nodetest.Options{Store: kept, Steps: demo.Actions(demo.Options{NoFaults: true})})
}

// save writes files to where weir finds them.
func save(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func weirCommand(t *testing.T, args []string, dir, server string) (string, error) {
	var out, messages bytes.Buffer
	env := map[string]string{"WEIR_SERVER": server, "NO_COLOR": "1"}
	code := cli.Main(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages, Dir: dir, Getenv: func(k string) string { return env[k] }})
	if code != 0 && code != 5 {
		return out.String(), fmt.Errorf("exit code %d: %s", code, messages.String())
	}
	return strings.ReplaceAll(out.String(), server, "http://"+weirHost), nil
}

// award is the service of examples/webhook.
func award(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Items []struct {
			ID   string         `json:"id"`
			Data map[string]any `json:"data"`
		} `json:"items"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	results := []map[string]any{}
	for _, it := range in.Items {
		a := map[string]any{"id": it.ID, "status": "done", "output": map[string]any{"reward_id": "r-" + it.ID}}
		if it.Data["closed"] == true {
			a = map[string]any{"id": it.ID, "status": "failed", "code": "closed", "message": "account " + it.ID + " is closed"}
		}
		if strings.HasSuffix(r.URL.Path, "/undo") {
			a = map[string]any{"id": it.ID, "status": "done"}
		}
		results = append(results, a)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results}) // weir would say
}

// secrets are not printed in pages, also if nothing is behind them any more.
var secrets = regexp.MustCompile(`\b(wk|whsec)_[0-9A-Za-z+/=]+`)

// differs matches text that changes from run to run.
var differs = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(ba|itm|req|key|whk|sch|evt|dlv|upl|tsk|aud)_[0-9a-z-]+`), "${1}_…"},
	{secrets, "${1}_…"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`"(\d+h)?(\d+m)?[\d.]+(ns|µs|ms|s)"`), `"SPAN"`},
	{regexp.MustCompile(`"(rate|use|share|allowed|cpu|memory|entitled|actual)":[\d.e+-]+`), `"$1":N`},
	{regexp.MustCompile(`(?m)^id: .*$`), "id: …"},
	{regexp.MustCompile(` {2,}`), "  "}, // columns are as wide as the name of a directory
}

// same returns a text without what differs from run to run.
func same(text string) string {
	for _, d := range differs {
		text = d.what.ReplaceAllString(text, d.with)
	}
	return strings.TrimSpace(text)
}

func TestWhatDiffersFromRunToRunIsLeftAside(t *testing.T) {
	a := `{"id":"ba_01k9x2v6w4s8m1c7q3d5f9h0jz","at":"2026-11-15T14:00:00.123Z","eta":"1m30s","rate":12.5,"n":1}`
	b := `{"id":"ba_01kb","at":"2027-01-01T00:00:00Z","eta":"250ms","rate":3e+06,"n":1}`
	if same(a) != same(b) {
		t.Errorf("%s\n%s", same(a), same(b))
	}
	if same(a) == same(strings.Replace(b, `"n":1`, `"n":2`, 1)) {
		t.Error("another number is taken for the same")
	}
}
