package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/weirhq/weir/internal/testkit/docstest"
)

const schemaFile = "docs/weir.schema.json"

func TestThePageOfTheSchemaIsCurrent(t *testing.T) {
	want, err := json.MarshalIndent(Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if docstest.Update() {
		docstest.Write(t, schemaFile, string(want))
	}
	if got := docstest.Read(t, schemaFile); got != string(want) {
		t.Errorf("%s is not current; run UPDATE=1 go test in this package to write it anew", schemaFile)
	}
}

// verdict is what the schema says of a file.
func verdict(t *testing.T, s *jsonschema.Schema, file string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(file), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(docstest.Read(t, schemaFile)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("weir.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("weir.json") // also holds it against the schema of schemas
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everyKind has a value of each kind, in each way of writing it.
const everyKind = `
listen: "[::1]:8080"
redis: redis://a:6379
redis_spread: false
partitions: 64
slots: 1_000
lease: 1m30s
retention: 30d
drain: ${DRAIN}
durability: ${DURABILITY}
allowed_hosts: [weir.example.com, "*.example.com"]
limits: {body: 8MiB, upload: 1.5 GB}
log:
traces: {sample: 0.1}
resources: {a: {rate: 300/s, concurrency: 20, pacing: full}, b: {rate: 30 / m}}
actions: {a: {url: "https://a.example.com", batch: 200, retries: 0, timeout: 500ms, header: {X-A: b}}}
tenants: {a: {weight: 0.5}}
connections: {a: {kind: kafka, address: "k:9092", sasl: scram-sha-256}}
webhooks: {ops: {url: "https://a.example.com"}}
`

func TestTheSchemaAcceptsWhatIsRight(t *testing.T) {
	_, example, _ := strings.Cut(docstest.Read(t, configPage), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	for name, file := range map[string]string{
		"the sample": docstest.Read(t, "deploy/weir.yaml"), "the example of the page": example, "every kind": everyKind,
	} {
		if err := verdict(t, compiled(t), file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := newPlace(t)
	p.env["DRAIN"], p.env["DURABILITY"] = "30s", "disk"
	if _, err := p.load(t, everyKind, nil); err != nil {
		t.Errorf("the server refuses every kind: %v", err)
	}
}

// What the schema marks, the server refuses.
func TestTheSchemaMarksMistakes(t *testing.T) {
	s, p := compiled(t), newPlace(t)
	for name, file := range map[string]string{
		"an unknown key":              "lisen: 127.0.0.1:8080",
		"an unknown key further down": "limits: {bodies: 8MiB}",
		"a size without a unit":       "limits: {body: 8}",
		"a span without a unit":       "drain: 30",
		"a span with another unit":    "drain: 30 seconds",
		"an age without a unit":       "retention: 30",
		"a rate without a unit":       "resources: {a: {rate: 300}}",
		"a word for a number":         "slots: many",
		"a number out of bounds":      "partitions: 300",
		"a batch out of bounds":       "actions: {a: {url: 'https://a.example.com', batch: 2000}}",
		"a part above one":            "traces: {sample: 10}",
		"another word":                "durability: disc",
		"an address without a port":   "listen: localhost",
		"a word for true":             "redis_spread: yes please",
		"an action without a url":     "actions: {a: {batch: 10}}",
		"an action with two names":    "actions: {a: {url: 'https://a.example.com', name: b}}",
		"an unknown kind":             "connections: {a: {kind: ftp, address: 'x:1'}}",
		"a connection without one":    "connections: {a: {address: 'x:1'}}",
		"a webhook's name":            "webhooks: {'a b': {url: 'https://a.example.com'}}",
		"keys where a list is":        "redis: {a: b}",
		"a value where keys are":      "log: debug",
		"no weight":                   "tenants: {a: {weight: 0}}",
		"the secret itself":           "redis_password: hunter2",
	} {
		if verdict(t, s, file) == nil {
			t.Errorf("%s: the schema accepts %q", name, file)
		}
		if _, err := p.load(t, file, nil); err == nil {
			t.Errorf("%s: the server accepts %q", name, file)
		}
	}
}

func TestTheSchemaExplainsEveryKey(t *testing.T) {
	var walk func(path string, s schema)
	walk = func(path string, s schema) {
		keys, _ := s["properties"].(schema)
		for key, v := range keys {
			one := v.(schema)
			if one["description"] == nil && one["properties"] == nil {
				t.Errorf("%s has no description", join(path, key))
			}
			walk(join(path, key), one)
		}
		if of, ok := s["additionalProperties"].(schema); ok {
			walk(join(path, "*"), of)
		}
	}
	root := Schema()
	walk("", root)
	for _, s := range Settings() {
		at := any(root)
		for key := range strings.SplitSeq(s.Key, ".") {
			at = at.(schema)["properties"].(schema)[key]
			if at == nil {
				t.Fatalf("the schema has no %s", s.Key)
			}
		}
	}
}
