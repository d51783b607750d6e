package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/demo"
	"go.uber.org/goleak"
)

// TestMain makes weir a command of the scripts, run by this very binary.
func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){
		"weir": func() { os.Exit(Main(context.Background(), command.OS())) },
	})
}

// leakFree runs the tests and fails if one leaves a goroutine behind.
type leakFree struct{ *testing.M }

func (l leakFree) Run() int {
	if err := flag.Set("test.parallel", "4"); err != nil { // scripts mostly wait: more of them than there are cores
		panic(err)
	}
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP) // so that scripts' processes do not inherit that it is ignored, as under nohup
	defer signal.Stop(hangUp)
	code := l.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		Setup:         setup,
		UpdateScripts: os.Getenv("UPDATE") != "",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "normal": normal, "gzip": gzipFile, "accepted": accepted, "users": users, "lines": countLines,
			"resumecmd": resumeProposed, "service": putAddress, "called": called, "term": terminate, "forget": forget, "once": once, "firstid": firstID, "lastid": lastID,
		},
	})
}

// setup gives each script a service to call at $SERVICE, with a path /hang that never answers, and paths
// /seen/… that remember their calls.
func setup(env *testscript.Env) error {
	mux, called, over := http.NewServeMux(), make(chan struct{}, 1), make(chan struct{})
	mux.Handle("/", demo.Server(demo.Options{NoLatency: true, NoFaults: true}))
	mux.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) {
		select {
		case called <- struct{}{}:
		default: // the first call tells enough
		}
		<-over
	})
	seen := &recorder{calls: map[string]map[string][]string{}}
	mux.Handle("/seen/", seen)
	env.Values["seen"] = seen
	mux.HandleFunc("/hook", func(http.ResponseWriter, *http.Request) {}) // takes what webhooks send
	s := httptest.NewServer(mux)
	env.Defer(func() { close(over); s.Close() })
	env.Values["called"] = called
	env.Vars = append(env.Vars, "SERVICE="+s.URL, "NO_COLOR=1")
	return nil
}

// terminate asks everything in the background to end, by the signal that kill does not know.
func terminate(ts *testscript.TestScript, _ bool, args []string) {
	sig := syscall.SIGTERM
	if len(args) > 0 && args[0] == "hup" {
		sig = syscall.SIGHUP
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(sig))
	}
}

// forget makes the newest run look as if its process had died before it knew that the items were accepted.
func forget(ts *testscript.TestScript, _ bool, args []string) {
	all, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "runs", "ba_*.json"))
	ts.Check(err)
	newest := all[len(all)-1] // ids sort by time
	known := strings.ReplaceAll(ts.ReadFile(newest), `"accepted": true`, `"accepted": false`)
	ts.Check(os.WriteFile(newest, []byte(known), 0o600))
}

// called waits for a call of /hang.
func called(ts *testscript.TestScript, _ bool, _ []string) {
	select {
	case <-ts.Value("called").(chan struct{}):
	case <-time.After(30 * time.Second):
		ts.Fatalf("nobody called")
	}
}

// recorder remembers the idempotency keys of calls, by path and item. Paths that end in wrong answer 404.
type recorder struct {
	mu    sync.Mutex
	calls map[string]map[string][]string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Items []struct {
			ID  string `json:"id"`
			Key string `json:"idempotency_key"`
		} `json:"items"`
	}
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type result struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	var results []result
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[req.URL.Path] == nil {
		r.calls[req.URL.Path] = map[string][]string{}
	}
	for _, it := range in.Items {
		r.calls[req.URL.Path][it.ID] = append(r.calls[req.URL.Path][it.ID], it.Key)
		results = append(results, result{it.ID, "done"})
	}
	if strings.HasSuffix(req.URL.Path, "wrong") {
		http.NotFound(w, req)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results}) // a caller that hung up asks again
}

// once wants so many items to have been called once each at a path, with the keys
// that they had at an earlier one, if that is named: once 3 /seen/message /seen/wrong
func once(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	r := ts.Value("seen").(*recorder)
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := len(r.calls[args[1]]); got != want {
		ts.Fatalf("%s was called for %d items, want %d", args[1], got, want)
	}
	for id, keys := range r.calls[args[1]] {
		if len(keys) != 1 {
			ts.Fatalf("item %s was called %d times at %s, want once", id, len(keys), args[1])
		}
		if len(args) > 2 && (len(r.calls[args[2]][id]) == 0 || r.calls[args[2]][id][0] != keys[0]) {
			ts.Fatalf("item %s has the key %s, want %v as at %s", id, keys[0], r.calls[args[2]][id], args[2])
		}
	}
}

// putAddress puts the address of the script's service into a file.
func putAddress(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "http://127.0.0.1:1", ts.Getenv("SERVICE"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// exits runs a command and wants its exit code: exits 5 weir run ...
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// What differs between two runs, and what is written instead.
var differs = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`ba_[0-9a-z]{26}`), "ba_ID"},
	{regexp.MustCompile(`127\.0\.0\.1[:-]\d+`), "HOST"},
	{regexp.MustCompile(` refused by the endpoint \d+  `), ""},
	{regexp.MustCompile(`attempts \d+   calls \d+`), "attempts N"},
	{regexp.MustCompile(`finished in [^,]*,`), "finished in TIME,"},
	{regexp.MustCompile(`(p\d\d|after|elapsed|in) +[\d.]+(?:µs|ms|s|m\d+s)`), "$1 TIME"},
	{regexp.MustCompile(`(p99 TIME +)[\d,.e+]+/s`), "${1}RATE"},
	{regexp.MustCompile(`(?m)^ +waited on .*\n`), ""},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

// normal writes the last stderr into a file, without what differs between runs.
func normal(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile("stderr")
	for _, d := range differs {
		text = d.what.ReplaceAllString(text, d.as)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func gzipFile(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(errors.Join(err, w.Close(), os.WriteFile(ts.MkAbs(args[0]+".gz"), b.Bytes(), 0o600)))
}

// users writes a CSV file of so many users.
func users(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b strings.Builder
	b.WriteString("user_id,amount\n")
	for i := range n {
		fmt.Fprintf(&b, "u%07d,%d\n", i+1, i%50)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// accepted waits until a run in the data directory was accepted.
func accepted(ts *testscript.TestScript, _ bool, args []string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for {
		all, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "runs", "ba_*.json"))
		ts.Check(err)
		for _, run := range all {
			if raw, err := os.ReadFile(run); err == nil && strings.Contains(string(raw), `"accepted": true`) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("no run was accepted in %s", args[0])
		}
	}
}

// lines wants so many lines in files taken together: lines 101 out/done.csv ...
func countLines(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	for _, f := range args[1:] {
		got += strings.Count(ts.ReadFile(f), "\n")
	}
	if got != want {
		ts.Fatalf("%v have %d lines, want %d", args[1:], got, want)
	}
}

// firstID puts the first id of a bulk action on the last stdout into a variable.
func firstID(ts *testscript.TestScript, _ bool, args []string) {
	id := regexp.MustCompile(`ba_[0-9a-z]{26}`).FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("no id of a bulk action is on stdout")
	}
	ts.Setenv(args[0], id)
}

// lastID puts the last id of a bulk action on the last stdout into a variable: the oldest of a list.
func lastID(ts *testscript.TestScript, _ bool, args []string) {
	ids := regexp.MustCompile(`(?m)^ba_[0-9a-z]{26}`).FindAllString(ts.ReadFile("stdout"), -1)
	if len(ids) == 0 {
		ts.Fatalf("no id of a bulk action is on stdout")
	}
	ts.Setenv(args[0], ids[len(ids)-1])
}

// resumeProposed runs the command that the last stderr, or a copy of an earlier one, proposes, word for word.
func resumeProposed(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(append(args, "stderr")[1])
	m := regexp.MustCompile(`(?m)^ +(?:resume|next) +weir (run --resume \S+|retry \S+)( --data \S+)?`).FindStringSubmatch(text)
	if m == nil {
		ts.Fatalf("no command in:\n%s", text)
	}
	exits(ts, false, append([]string{args[0], "weir"}, strings.Fields(m[1]+m[2])...))
}
