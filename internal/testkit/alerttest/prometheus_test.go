package alerttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/weirhq/weir/internal/testkit/docstest"
)

// Durations of the rules are divided: ranges less than the times for which a
// condition has to last, so that each has many scrapes in it however busy the machine is.
const (
	rangeBy   = 30
	forBy     = 300
	patience  = 3 * time.Minute // nothing takes nearly that long on an idle machine
	scrape    = "2s"
	evaluate  = "1s"
	pollEvery = 500 * time.Millisecond
)

// ages are bounds in seconds of rules about how old something is, and what they are here.
var ages = map[string]string{"> 300": "> 5", "> 600": "> 5", "> 7 * 86400": "> 5"}

var (
	ranges = regexp.MustCompile(`(\[|offset )(\d+[mhd])`)
	lasts  = regexp.MustCompile(`(?m)^( +for: )(\d+[mhd])$`)
)

// shortened returns the rules with divided durations, and their names.
func shortened(t *testing.T) (text string, names []string) {
	t.Helper()
	text = docstest.Read(t, "docs/alerts.yaml")
	by := func(n int) func(string) string {
		return func(found string) string {
			at := strings.LastIndexAny(found, "[ ") + 1
			text, days := strings.CutSuffix(found[at:], "d")
			if days {
				text += "h"
			}
			length, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			if days {
				length *= 24
			}
			return fmt.Sprintf("%s%dms", found[:at], (length / time.Duration(n)).Milliseconds())
		}
	}
	text = lasts.ReplaceAllStringFunc(ranges.ReplaceAllStringFunc(text, by(rangeBy)), by(forBy))
	for bound, here := range ages {
		if !strings.Contains(text, bound) {
			t.Errorf("no rule has the bound %q any more", bound)
		}
		text = strings.ReplaceAll(text, bound, here)
	}
	var file struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Groups[0].Rules {
		names = append(names, r.Alert)
	}
	return text, names
}

// monitor is a Prometheus that runs until the test ends.
type monitor struct {
	t       *testing.T
	url     string
	targets string // the file that names them
	mu      sync.Mutex
	at      []string
}

// watch starts a Prometheus with rules.
func watch(t *testing.T, rules string) *monitor {
	t.Helper()
	dir := t.TempDir()
	m := &monitor{t: t, targets: filepath.Join(dir, "targets.json")}
	for name, text := range map[string]string{
		"rules.yaml": rules, "targets.json": "[]",
		"prometheus.yaml": fmt.Sprintf(`global: {scrape_interval: %s, scrape_timeout: %s, evaluation_interval: %s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: weir, file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]}]
`, scrape, scrape, evaluate),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t)
	m.url = "http://" + address
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := cmd.Start(); err != nil {
		t.Fatalf("prometheus (make deps installs it): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of Prometheus:\n%s", text)
		}
		_ = log.Close()
	})
	m.until("Prometheus is ready", func() bool {
		resp, err := http.Get(m.url + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return m
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// scrapes has Prometheus look at a server as well; without: no longer.
func (m *monitor) scrapes(server string, also bool) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	address := strings.TrimPrefix(server, "http://")
	m.at = slices.DeleteFunc(m.at, func(a string) bool { return a == address })
	if also {
		m.at = append(m.at, address)
	}
	raw, err := json.Marshal([]map[string][]string{{"targets": m.at}})
	if err == nil {
		err = os.WriteFile(m.targets+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(m.targets+".new", m.targets)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// get asks Prometheus.
func (m *monitor) get(path string, out any) {
	m.t.Helper()
	resp, err := http.Get(m.url + path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		m.t.Fatal(err)
	}
}

// firing returns the alerts that fire now.
func (m *monitor) firing() (names []string) {
	var out struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	m.get("/api/v1/alerts", &out)
	for _, a := range out.Data.Alerts {
		if a.State == "firing" {
			names = append(names, a.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// number returns the value of an expression; 0: it has none.
func (m *monitor) number(expr string) (n float64) {
	var out struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	m.get("/api/v1/query?query="+url.QueryEscape(expr), &out)
	if len(out.Data.Result) > 0 {
		_, _ = fmt.Sscan(out.Data.Result[0].Value[1].(string), &n)
	}
	return n
}

func (m *monitor) until(what string, holds func() bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); !holds(); <-time.After(pollEvery) {
		if time.Now().After(end) {
			m.t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// untilFiring waits until alerts have fired, each at some time.
func (m *monitor) untilFiring(want []string) {
	m.t.Helper()
	left := slices.Clone(want)
	began := time.Now()
	for end := time.Now().Add(patience); len(left) > 0; <-time.After(pollEvery) {
		now := m.firing()
		left = slices.DeleteFunc(left, func(name string) bool {
			fires := slices.Contains(now, name)
			if fires {
				m.t.Logf("%s fires after %v", name, time.Since(began).Round(time.Second))
			}
			return fires
		})
		if time.Now().After(end) {
			m.t.Fatalf("after %v these have not fired: %v", patience, left)
		}
	}
}
