package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestEveryAlertFiresAndResolvesInItsTrueDurations has promtool play the series in
// testdata/alerts_test.yaml, each as long as the rule wants it.
func TestEveryAlertFiresAndResolvesInItsTrueDurations(t *testing.T) {
	dir := t.TempDir()
	tests, err := os.ReadFile("testdata/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"alerts.yaml": Read(t, "docs/alerts.yaml"), "alerts_test.yaml": string(tests)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, alert := range alertNames(t) {
		if !strings.Contains(string(tests), "  - name: "+alert+"\n") {
			t.Errorf("testdata/alerts_test.yaml has no test of %s", alert)
		}
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", filepath.Join(dir, "alerts_test.yaml")).CombinedOutput()
	if err != nil {
		t.Errorf("promtool (make deps installs it): %v\n%s", err, out)
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
