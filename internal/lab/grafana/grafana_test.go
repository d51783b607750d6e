package grafana

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	deploy = "../../../deploy/grafana"
	docs   = "../../../docs/dashboards"
)

func TestTheFilesAreWhatTheDefinitionsSay(t *testing.T) {
	var want []string
	for _, d := range All() {
		want = append(want, d.Name+".json")
		now, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if file, err := os.ReadFile(filepath.Join(deploy, d.Name+".json")); err != nil || !bytes.Equal(file, now) {
			t.Errorf("%s.json is out of date (%v): go run ./internal/lab/grafana/write", d.Name, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(deploy, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if slices.Sort(want); !slices.Equal(files, want) {
		t.Errorf("deploy/grafana has %q, want %q", files, want)
	}
}

func TestEveryPanelIsDrawnForTheDocumentation(t *testing.T) {
	for _, d := range All() {
		svg, err := os.ReadFile(filepath.Join(docs, d.Name+".svg"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, p := range d.Panels {
			if !bytes.Contains(svg, []byte(">"+p.Title+"</text>")) {
				t.Errorf("%s.svg does not show %q: UPDATE=1 go test ./internal/testkit/alerttest -run Dashboards", d.Name, p.Title)
			}
		}
	}
}

var (
	used    = regexp.MustCompile(`\$\{?(\w+)`)
	metrics = regexp.MustCompile(`\b(weir|go|process)_\w+(\{?)`)
)

func TestPanelsAreComplete(t *testing.T) {
	for _, d := range All() {
		names := []string{"__rate_interval", "__range"}
		for _, v := range d.Variables {
			names = append(names, v.Name)
		}
		titles := map[string]bool{}
		for _, p := range d.Panels {
			if p.Title == "" || titles[p.Title] || !strings.HasSuffix(p.About, ".") || p.Unit.Grafana == "" || p.Unit.Words == "" || len(p.Queries) == 0 {
				t.Errorf("%s: %q has no title of its own, no sentence, no unit or no query", d.Name, p.Title)
			}
			titles[p.Title] = true
			for _, x := range p.Queries {
				if x.Legend == "" {
					t.Errorf("%s: %s: the series of %s have no name", d.Name, p.Title, x.Expr)
				}
				for _, v := range used.FindAllStringSubmatch(x.Expr, -1) {
					if !slices.Contains(names, v[1]) {
						t.Errorf("%s: %s: the dashboard has no variable %s", d.Name, p.Title, v[1])
					}
				}
				for _, m := range metrics.FindAllStringSubmatch(x.Expr, -1) {
					if m[2] == "" {
						t.Errorf("%s: %s: %s is of all jobs: write {} after it", d.Name, p.Title, m[0])
					}
				}
			}
		}
		for _, v := range used.FindAllStringSubmatch(d.About, -1) {
			if !slices.Contains(names, v[1]) {
				t.Errorf("%s: its text has the unknown variable %s", d.Name, v[1])
			}
		}
	}
}

func TestAFileHasTheFormThatGrafanaReads(t *testing.T) {
	type position struct{ X, Y, W, H int }
	for _, d := range All() {
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			UID, Title    string
			SchemaVersion int
			Panels        []struct {
				ID         int
				Type       string
				GridPos    position
				Datasource struct{ Type, UID string }
				Targets    []struct{ RefID, Expr string }
			}
			Templating struct{ List []struct{ Name, Type string } }
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		if file.UID != d.Name || len(file.UID) > 40 || file.Title == "" || file.SchemaVersion == 0 || file.Templating.List[0].Name != "datasource" {
			t.Errorf("%s: the head is %+v", d.Name, file)
		}
		ids, places := map[int]bool{}, map[position]bool{}
		for _, p := range file.Panels {
			if ids[p.ID] || places[p.GridPos] || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %d at %+v is not alone there", d.Name, p.ID, p.GridPos)
			}
			ids[p.ID], places[p.GridPos] = true, true
			if p.Type == "timeseries" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
				t.Errorf("%s: panel %d asks nothing, or not the chosen Prometheus", d.Name, p.ID)
			}
		}
	}
}

func TestVariablesGetValues(t *testing.T) {
	x := q("{{tier}} of {{resource}}", `sum(rate(a{}[$__rate_interval])) / sum(b{resource="$resource"})`)
	want := `sum(rate(a{job="weir"}[1m])) / sum(b{job="weir", resource="mail"})`
	if got := x.With("1m", map[string]string{"job": "weir", "resource": "mail"}); got != want {
		t.Errorf("With = %s, want %s", got, want)
	}
	if got := x.Called(map[string]string{"tier": "low", "resource": "mail"}); got != "low of mail" {
		t.Errorf("Called = %q", got)
	}
}
