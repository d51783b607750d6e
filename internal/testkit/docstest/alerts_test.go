package docstest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// played are the files with series that promtool plays to the rules.
var played = []string{"alerts_test.yaml", "alerts_slo_test.yaml"}

// TestEveryAlertFiresAndResolvesInItsTrueDurations has promtool play the series in testdata, each as long as the rule
// wants it.
func TestEveryAlertFiresAndResolvesInItsTrueDurations(t *testing.T) {
	dir := t.TempDir()
	copyTo := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rules := copyTo("alerts.yaml", Read(t, "docs/alerts.yaml"))
	promtool(t, nil, "check", "rules", "--lint=all", "--lint-fatal", rules)
	tested := map[string]bool{}
	for _, name := range played {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, alert := range firesAndResolves(t, text) {
			tested[alert] = true
		}
		promtool(t, nil, "test", "rules", copyTo(name, string(text)))
	}
	for _, alert := range alertNames(t) {
		if !tested[alert] {
			t.Errorf("no test has %s fire and resolve", alert)
		}
	}
}

// firesAndResolves lists the alerts of a file of tests that are silent at first, then fire, and are silent at last.
func firesAndResolves(t *testing.T, text []byte) (alerts []string) {
	t.Helper()
	var file struct {
		Tests []struct {
			Name   string
			Checks []struct {
				Expr    string
				Samples []any `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Tests {
		var fires []bool
		for _, check := range c.Checks {
			if !strings.Contains(check.Expr, `alertname="`+c.Name+`"`) {
				t.Errorf("the test of %s is about something else: %s", c.Name, check.Expr)
			}
			fires = append(fires, len(check.Samples) > 0)
		}
		if slices.Equal(fires, []bool{false, true, false}) {
			alerts = append(alerts, c.Name)
		}
	}
	return alerts
}

// promtool runs the program with the name. It has to accept what it is given.
func promtool(t *testing.T, stdin io.Reader, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s (make deps installs it): %v\n%s", strings.Join(args[:2], " "), err, out)
	}
}

// alertNames lists the alerts of docs/alerts.yaml.
func alertNames(t *testing.T) (names []string) {
	t.Helper()
	var file rules
	if err := yaml.UnmarshalWithOptions([]byte(Read(t, "docs/alerts.yaml")), &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			names = append(names, r.Alert)
		}
	}
	return names
}
