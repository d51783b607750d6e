package deploy

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
)

// The tests of tools/chart render the chart with Helm's engine. These need no more than the files.

// templates returns all templates of the chart.
func templates(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("chart/templates")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, e := range entries {
		all += read(t, "chart/templates/"+e.Name())
	}
	return all
}

func values(t *testing.T) (all map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, "chart/values.yaml")), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTheValuesFitTheirSchema validates the defaults, and compares the names of values with those that the schema allows.
func TestTheValuesFitTheirSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, "chart/values.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("chart:values", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("chart:values")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := yaml.YAMLToJSON([]byte(read(t, "chart/values.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	all, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(all); err != nil {
		t.Error(err)
	}
	sameNames(t, "", doc.(map[string]any), values(t))
}

// sameNames compares the properties of a closed schema with the members of an object, and of objects in it.
func sameNames(t *testing.T, at string, schema, object map[string]any) {
	t.Helper()
	allowed, _ := schema["properties"].(map[string]any)
	if schema["additionalProperties"] != false || strings.HasPrefix(at, ".probes.") {
		return
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(allowed)), func(n string) bool { return at == "" && n == "global" })
	if given := slices.Sorted(maps.Keys(object)); !slices.Equal(names, given) {
		t.Errorf("values%s: the schema has %q, values.yaml has %q", at, names, given)
	}
	for _, name := range names {
		if inner, ok := object[name].(map[string]any); ok {
			sameNames(t, at+"."+name, allowed[name].(map[string]any), inner)
		}
	}
}

// TestEveryValueIsUsed looks for each value in the templates.
func TestEveryValueIsUsed(t *testing.T) {
	all := templates(t)
	for name := range values(t) {
		if !strings.Contains(all, ".Values."+name) && !strings.Contains(all, "$v."+name) {
			t.Errorf("no template uses the value %s", name)
		}
	}
}

// TestTheChartFitsTheProgram compares variables, settings, routes and times of the templates with the code.
func TestTheChartFitsTheProgram(t *testing.T) {
	all := templates(t)
	_, vars := settings()
	used := found(t, read(t, "chart/templates/_pod.tpl"), `name: (WEIR_[A-Z_]+)`)
	for _, v := range used {
		if !slices.Contains(vars, v) {
			t.Errorf("weir serve reads no variable %s", v)
		}
	}
	refused := strings.Fields(strings.ReplaceAll(found(t, all, `\$instead := dict (.*) -}}`)[0], `"`, ""))
	ours := regexp.MustCompile(found(t, all, `regexMatch "(.*?)"`)[0])
	keys, tops := []string{}, map[string]bool{}
	for i := 0; i < len(refused); i += 2 {
		keys = append(keys, refused[i])
	}
	for _, s := range config.Settings() {
		top, _, _ := strings.Cut(s.Key, ".")
		tops[top] = true
		if slices.Contains(used, s.Env) && !slices.Contains(keys, top) {
			t.Errorf("the chart sets %s, and config may have %s, too: one of them would have no effect", s.Env, s.Key)
		}
		if slices.Contains(used, s.Env) && !ours.MatchString(s.Env) {
			t.Errorf("the chart sets %s, and extraEnv may have it, too", s.Env)
		}
	}
	for _, k := range keys {
		if !tops[k] {
			t.Errorf("weir.yaml has no %s", k)
		}
	}
	routes := read(t, "../docs/api.md")
	for _, path := range append(found(t, all, `"weir.probe" \(list \. "(/[a-z]+)"`), "/v1/scale") {
		if !strings.Contains(all, path) || !strings.Contains(routes, "GET "+path+"`") {
			t.Errorf("GET %s is no route, or not used", path)
		}
	}
	answer := reflect.TypeFor[api.Scale]()
	member := found(t, all, `valueLocation: (\S+)`)[0]
	if !slices.ContainsFunc(reflect.VisibleFields(answer), func(f reflect.StructField) bool { return f.Tag.Get("json") == member }) {
		t.Errorf("the answer of /v1/scale has no %s", member)
	}
	conf, err := config.Load(config.Source{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := values(t)["drainSeconds"].(uint64); !ok || time.Duration(d)*time.Second != time.Duration(conf.Drain) {
		t.Errorf("drainSeconds is %v, and drain is %v by default", values(t)["drainSeconds"], time.Duration(conf.Drain))
	}
}

// TestTheChartRunsTheImageAsItsUser compares the user, and where the image has its volume.
func TestTheChartRunsTheImageAsItsUser(t *testing.T) {
	image, pod := read(t, "Dockerfile"), read(t, "chart/templates/_pod.tpl")
	user := found(t, image, `(?m)^USER (\d+):`)[0]
	for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
		if got := found(t, pod, field+`: (\d+)`)[0]; got != user {
			t.Errorf("%s is %s, and the user of the image is %s", field, got, user)
		}
	}
	if dir := found(t, image, `(?m)^VOLUME (\S+)`)[0]; !strings.Contains(pod, "{name: data, mountPath: "+dir+"}") {
		t.Errorf("the volume is not at %s", dir)
	}
	if !regexp.MustCompile(`containerPort: ` + found(t, image, `EXPOSE (\d+)`)[0] + `\b`).MatchString(pod) {
		t.Error("the pod has another port than the image")
	}
}

// TestTheAlertsOfTheChartAreThoseOfTheDocs wants a link: a copy would become old.
func TestTheAlertsOfTheChartAreThoseOfTheDocs(t *testing.T) {
	if read(t, "chart/files/alerts.yaml") != read(t, "../docs/alerts.yaml") {
		t.Error("chart/files/alerts.yaml differs from docs/alerts.yaml; it is a link to it")
	}
}
