package chart

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

const (
	source     = "../../deploy/chart"
	namespace  = "jobs"
	kubernetes = "v1.36.3" // the version whose schemas are used
)

// object is a Kubernetes object.
type object map[string]any

// at returns the value under keys; nil if it is not there. A number is an index of a list.
func (o object) at(keys ...any) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// text returns the text under keys; empty if it is not there.
func (o object) text(keys ...any) string {
	s, _ := o.at(keys...).(string)
	return s
}

// list returns the objects of the list under keys.
func (o object) list(keys ...any) (all []object) {
	l, _ := o.at(keys...).([]any)
	for _, v := range l {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (o object) kind() string { return o.text("kind") }
func (o object) name() string { return o.text("metadata", "name") }

// rendered holds the objects of a release, and its notes.
type rendered struct {
	objects []object
	notes   string
}

// of returns the objects of a kind.
func (r *rendered) of(kind string) (all []object) {
	for _, o := range r.objects {
		if o.kind() == kind {
			all = append(all, o)
		}
	}
	return all
}

// only returns the only object of a kind.
func (r *rendered) only(t *testing.T, kind string) object {
	t.Helper()
	all := r.of(kind)
	if len(all) != 1 {
		t.Fatalf("%d objects of the kind %s, want 1", len(all), kind)
	}
	return all[0]
}

// workload returns the StatefulSet or the Deployment.
func (r *rendered) workload(t *testing.T) object {
	t.Helper()
	all := append(r.of("StatefulSet"), r.of("Deployment")...)
	if len(all) != 1 {
		t.Fatalf("%d workloads, want 1", len(all))
	}
	return all[0]
}

func open(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

// render renders the chart as helm install does: values are held against their schema, then templates are run.
func render(t *testing.T, values string) (*rendered, error) {
	t.Helper()
	var own map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &own); err != nil {
		t.Fatalf("%v in\n%s", err, values)
	}
	c, can := open(t), chartutil.DefaultCapabilities.Copy()
	can.KubeVersion = chartutil.KubeVersion{Version: kubernetes, Major: "1", Minor: "36"}
	if !chartutil.IsCompatibleRange(c.Metadata.KubeVersion, kubernetes) {
		t.Fatalf("the chart is not for %s", kubernetes)
	}
	release := chartutil.ReleaseOptions{Name: "weir", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, own, release, can)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	out := &rendered{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Base(name) == "NOTES.txt" {
			out.notes = files[name]
			continue
		}
		for _, text := range strings.Split("\n"+files[name], "\n---") {
			raw, err := yaml.YAMLToJSONStrict([]byte(text)) // finds repeated keys
			if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, text)
			}
			var o object
			d := json.NewDecoder(bytes.NewReader(raw))
			d.UseNumber()
			if err := d.Decode(&o); err != nil && err != io.EOF {
				t.Fatalf("%s: %v in\n%s", name, err, text)
			}
			if o != nil {
				out.objects = append(out.objects, o)
			}
		}
	}
	return out, nil
}

// accepted lists the values of testdata and of the guide, by name.
func accepted(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no values", err)
	}
	for _, f := range files {
		all[filepath.Base(f)] = read(t, f)
	}
	for i, part := range strings.Split(read(t, "../../docs/kubernetes.md"), "```yaml\n# values.yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		all["guide "+string(rune('1'+i))] = text
	}
	if len(all) == len(files) {
		t.Error("the guide has no values")
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
