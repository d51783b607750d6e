package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// origin is a module whose files hold schemas. None of its packages is compiled.
type origin struct{ path, version, sum string }

// Where the schemas are.
var (
	kubernetesModule = origin{"k8s.io/kubernetes", kubernetes, "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o="}
	prometheusModule = origin{"github.com/prometheus-operator/prometheus-operator", "v0.94.1", "h1:QEIb2wenPH+SdMN1xMf8l4Pmj00YYXXI6HlbLlQWkww="}
	kedaModule       = origin{"github.com/kedacore/keda/v2", "v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps="}
)

// dir returns the directory of the module, which Go fetches if it has to.
func (o origin) dir(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", o.path+"@"+o.version).Output()
	var m struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &m) != nil || m.Dir == "" {
		t.Fatalf("go mod download %s: %v %s", o.path, err, m.Error)
	}
	if m.Sum != o.sum {
		t.Fatalf("%s %s has the sum %s, want %s", o.path, o.version, m.Sum, o.sum)
	}
	return m.Dir
}

// validator holds objects against the schemas of their kinds, as an API server does that refuses unknown fields.
type validator struct {
	t         *testing.T
	documents string // of Kubernetes
	crds      map[string]any
	known     map[string]*jsonschema.Schema
	compiler  *jsonschema.Compiler
	resources map[string]map[string]any
}

func newValidator(t *testing.T) *validator {
	t.Helper()
	v := &validator{
		t: t, documents: filepath.Join(kubernetesModule.dir(t), "api/openapi-spec/v3"), crds: map[string]any{},
		known: map[string]*jsonschema.Schema{}, compiler: jsonschema.NewCompiler(), resources: map[string]map[string]any{},
	}
	prometheus, keda := prometheusModule.dir(t), kedaModule.dir(t)
	for _, file := range []string{
		prometheus + "/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		prometheus + "/example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		keda + "/config/crd/bases/keda.sh_scaledobjects.yaml", keda + "/config/crd/bases/keda.sh_triggerauthentications.yaml",
	} {
		v.readCRD(file)
	}
	return v
}

// readCRD notes the schemas of a CustomResourceDefinition.
func (v *validator) readCRD(file string) {
	v.t.Helper()
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(v.t, file)), &crd); err != nil {
		v.t.Fatal(err)
	}
	for _, version := range crd.Spec.Versions {
		v.crds[crd.Spec.Group+"/"+version.Name+" "+crd.Spec.Names.Kind] = version.Schema.OpenAPIV3Schema
	}
}

// check returns what is wrong with an object; nil if nothing is.
func (v *validator) check(o object) error {
	v.t.Helper()
	kind := o.text("apiVersion") + " " + o.kind()
	if v.known[kind] == nil {
		v.known[kind] = v.schemaOf(kind, o)
	}
	if err := v.known[kind].Validate(map[string]any(o)); err != nil {
		return err
	}
	if v.crds[kind] == nil {
		return nil
	}
	if v.known["metadata"] == nil { // a CRD only says that it is an object
		v.known["metadata"] = v.component("v1", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
	}
	return v.known["metadata"].Validate(o.at("metadata"))
}

func (v *validator) schemaOf(kind string, o object) *jsonschema.Schema {
	v.t.Helper()
	if crd, ok := v.crds[kind].(map[string]any); ok {
		closeAll(crd)
		return v.compile("mem://crd/"+strings.ReplaceAll(kind, " ", "/"), "", crd)
	}
	version := o.text("apiVersion")
	group, number, ok := strings.Cut(version, "/")
	if !ok {
		group, number = "", version
	}
	for name, schema := range v.document(version)["components"].(map[string]any)["schemas"].(map[string]any) {
		kinds, _ := schema.(map[string]any)["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			if fmt.Sprint(k) == fmt.Sprint(map[string]any{"group": group, "kind": o.kind(), "version": number}) {
				return v.component(version, name)
			}
		}
	}
	v.t.Fatalf("Kubernetes %s has no %s", kubernetes, kind)
	return nil
}

// document returns the OpenAPI document of a version of a group.
func (v *validator) document(version string) map[string]any {
	v.t.Helper()
	if v.resources[version] != nil {
		return v.resources[version]
	}
	name := "api__v1_openapi.json"
	if group, number, ok := strings.Cut(version, "/"); ok {
		name = "apis__" + group + "__" + number + "_openapi.json"
	}
	raw, err := os.ReadFile(filepath.Join(v.documents, name))
	if err != nil {
		v.t.Fatalf("Kubernetes %s has no %s: %v", kubernetes, version, err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		v.t.Fatal(err)
	}
	delete(doc, "paths")
	for _, schema := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		closeAll(schema.(map[string]any))
	}
	v.resources[version] = doc
	if err := v.compiler.AddResource("mem://kubernetes/"+version, doc); err != nil {
		v.t.Fatal(err)
	}
	return doc
}

// component compiles a schema of the document of a version.
func (v *validator) component(version, name string) *jsonschema.Schema {
	v.t.Helper()
	v.document(version)
	s, err := v.compiler.Compile("mem://kubernetes/" + version + "#/components/schemas/" + name)
	if err != nil {
		v.t.Fatal(err)
	}
	return s
}

func (v *validator) compile(url, at string, schema map[string]any) *jsonschema.Schema {
	v.t.Helper()
	if err := v.compiler.AddResource(url, schema); err != nil {
		v.t.Fatal(err)
	}
	s, err := v.compiler.Compile(url + at)
	if err != nil {
		v.t.Fatal(err)
	}
	return s
}

// closeAll has a schema, and all in it, refuse fields that it does not name.
func closeAll(schema map[string]any) {
	if fields, ok := schema["properties"].(map[string]any); ok {
		if _, open := schema["additionalProperties"]; !open && schema["x-kubernetes-preserve-unknown-fields"] != true {
			schema["additionalProperties"] = false
		}
		for _, f := range fields {
			closeAll(f.(map[string]any))
		}
	}
	for _, of := range []string{"items", "additionalProperties"} {
		if s, ok := schema[of].(map[string]any); ok {
			closeAll(s)
		}
	}
}
