package server

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/callback"
)

// served is the OpenAPI document as generators of clients read it.
type served struct {
	Info    struct{ License, Contact map[string]string }
	Servers []struct{ URL string }
	Tags    []struct{ Name, Description string }
	Paths   map[string]map[string]struct {
		OperationID, Description string
		Tags                     []string
		Security                 []map[string][]string
		Responses                map[string]struct {
			Ref     string `json:"$ref"`
			Headers map[string]struct {
				Ref string `json:"$ref"`
			}
		}
	}
	Components struct {
		Responses, Headers, Schemas map[string]json.RawMessage
	}
}

// askDocument requests a document, and returns the response with its body.
func askDocument(t *testing.T, s *Server, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	req.Host = "localhost"
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, req)
	return w
}

func readDocument(t *testing.T, s *Server) (doc served) {
	t.Helper()
	if err := json.Unmarshal(askDocument(t, s, "/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheDocumentSaysWhereAndWhatItIs(t *testing.T) {
	doc := readDocument(t, described(t))
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" || doc.Info.License["name"] == "" || doc.Info.Contact["url"] == "" {
		t.Errorf("servers %v, license %v, contact %v; want all three", doc.Servers, doc.Info.License, doc.Info.Contact)
	}
}

func TestTheDocumentDescribesEveryTagThatItUses(t *testing.T) {
	doc := readDocument(t, described(t))
	unused := map[string]bool{}
	for _, tag := range doc.Tags {
		if unused[tag.Name] = true; !strings.HasSuffix(tag.Description, ".") {
			t.Errorf("tag %s is described as %q, want a sentence", tag.Name, tag.Description)
		}
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if tagTexts[op.Tags[0]] == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s has the tags %q, want one that is described", method, path, op.Tags)
			}
			delete(unused, op.Tags[0])
		}
	}
	if len(unused) > 0 {
		t.Errorf("no operation has the tags %v", unused)
	}
}

func TestOperationsReferToErrorsAndHeaders(t *testing.T) {
	doc := readDocument(t, described(t))
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if len(op.Security) == 0 || op.Description == "" {
				t.Errorf("%s %s: security %v, description %q; want both", method, path, op.Security, op.Description)
			}
			errors := 0
			for status, r := range op.Responses {
				for name, h := range r.Headers {
					if doc.Components.Headers[strings.TrimPrefix(h.Ref, "#/components/headers/")] == nil {
						t.Errorf("%s %s, %s: the header %s refers to %q", method, path, status, name, h.Ref)
					}
				}
				if status[0] == '2' || op.OperationID == "health.ready" && status == "503" || op.Tags[0] == uploadTag && status == "default" {
					continue
				}
				if errors++; doc.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")] == nil {
					t.Errorf("%s %s: %s refers to %q", method, path, status, r.Ref)
				}
			}
			if errors == 0 {
				t.Errorf("%s %s has no error", method, path)
			}
		}
	}
	for _, f := range failures {
		if doc.Components.Schemas[f.name] != nil {
			t.Errorf("a schema is called %s like a response: generators make types of both", f.name)
		}
	}
	repeats := doc.Paths["/v1/webhooks"]["post"].Responses["201"].Headers
	if repeats["Idempotency-Replayed"].Ref == "" || repeats["Location"].Ref == "" {
		t.Errorf("the creation of a webhook has the headers %v", repeats)
	}
}

func TestProblemsAreReferredToEverywhere(t *testing.T) {
	raw := askDocument(t, described(t), "/openapi.json").Body.String()
	if n := strings.Count(raw, `"request_id"`); n > 3 {
		t.Errorf("the members of a problem are written %d times", n)
	}
}

// Generators make types of all of them, in one package.
func TestNamesOfTheDocumentAreDifferent(t *testing.T) {
	var doc struct {
		Components map[string]map[string]any
	}
	if err := json.Unmarshal(askDocument(t, described(t), "/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for kind, names := range doc.Components {
		for name := range names {
			folded := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
			if kinds[folded] != "" {
				t.Errorf("%s of the %s and of the %s have the same name", name, kind, kinds[folded])
			}
			kinds[folded] = kind
		}
	}
	if kinds["problem"] != "schemas" || kinds[bearerScheme] != "securitySchemes" {
		t.Errorf("names %v", kinds)
	}
}

func TestNoArrayOfTheDocumentIsNullable(t *testing.T) {
	var doc any
	if err := json.Unmarshal(askDocument(t, described(t), "/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var look func(at string, v any)
	look = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if types, ok := v["type"].([]any); ok && slices.Contains(types, any("array")) {
				t.Errorf("%s has the types %v", at, types)
			}
			for name, below := range v {
				look(at+"/"+name, below)
			}
		case []any:
			for i, below := range v {
				look(fmt.Sprintf("%s/%d", at, i), below)
			}
		}
	}
	look("", doc)
}

func TestTheDocumentListsTheValuesOfClosedSets(t *testing.T) {
	s := described(t)
	all := s.OpenAPI().Components.Schemas.Map()
	filters := s.OpenAPI().Paths["/v1/bulk-actions"].Get.Parameters
	of := slices.IndexFunc(filters, func(p *huma.Param) bool { return p.Name == "state" })
	states := []string{}
	for _, st := range api.States() {
		states = append(states, string(st))
	}
	for _, tt := range []struct {
		name  string
		field *huma.Schema
		want  []string
	}{
		{"codes of problems", all["Problem"].Properties["code"], slices.Sorted(maps.Keys(meanings))},
		{"events of a webhook", all["Webhook"].Properties["events"].Items, callback.Types()},
		{"states of a list", filters[of].Schema.Items, states},
		{"the type of an event", all["BulkActionEvent"].Properties["type"], callback.Types()},
	} {
		var got []string
		for _, v := range tt.field.Enum {
			got = append(got, v.(string))
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheDocumentDescribesEveryEvent(t *testing.T) {
	var doc struct {
		Webhooks map[string]struct {
			Post struct {
				Summary    string
				Parameters []struct {
					Ref string `json:"$ref"`
				}
				RequestBody struct {
					Content map[string]struct {
						Schema struct {
							Ref string `json:"$ref"`
						}
					}
				}
			}
		}
	}
	s := described(t)
	if err := json.Unmarshal(askDocument(t, s, "/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(callback.Types(), callback.TypePing) {
		want := "#/components/schemas/BulkActionEvent"
		if name == callback.TypePing {
			want = "#/components/schemas/TestEvent"
		}
		event := doc.Webhooks[name].Post
		if got := event.RequestBody.Content["application/cloudevents+json"].Schema.Ref; got != want || event.Summary == "" || len(event.Parameters) != 3 {
			t.Errorf("%s: %+v, want a summary, three headers and the schema %s", name, event, want)
		}
	}
	for _, header := range []string{execute.HeaderID, execute.HeaderTimestamp, execute.HeaderSignature} {
		if p := s.OpenAPI().Components.Parameters[headerName(header)]; p == nil || p.Name != header {
			t.Errorf("the header %s is described as %+v", header, p)
		}
	}
	if older := askDocument(t, s, "/openapi-3.0.json").Body.String(); strings.Contains(older, `"webhooks":{`) {
		t.Error("the document in 3.0 has webhooks, which only 3.1 has")
	}
}

func TestTheDocumentIsSentOnceAndPacked(t *testing.T) {
	s := described(t)
	for _, path := range []string{"/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/openapi-3.0.yaml"} {
		plain := askDocument(t, s, path)
		tag := plain.Header().Get("ETag")
		if plain.Code != http.StatusOK || tag == "" || plain.Header().Get("Vary") != "Accept-Encoding" || !strings.HasPrefix(plain.Header().Get("Content-Type"), "application/openapi+") {
			t.Errorf("%s: status %d, headers %v", path, plain.Code, plain.Header())
		}
		if again := askDocument(t, s, path, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s with its tag: status %d, %d bytes, want 304 and none", path, again.Code, again.Body.Len())
		}
		if other := askDocument(t, s, path, "If-None-Match", `"other"`); other.Code != http.StatusOK || other.Body.String() != plain.Body.String() {
			t.Errorf("%s with another tag: status %d, %d bytes, want all of it", path, other.Code, other.Body.Len())
		}
		packed := askDocument(t, s, path, "Accept-Encoding", "br, gzip;q=0.8")
		if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("ETag") == tag {
			t.Fatalf("%s for a client that takes gzip: headers %v", path, packed.Header())
		}
		r, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := io.ReadAll(r); err != nil || string(raw) != plain.Body.String() {
			t.Errorf("%s unpacked: %d bytes, %v; want the same as without gzip", path, len(raw), err)
		}
		if again := askDocument(t, s, path, "Accept-Encoding", "gzip", "If-None-Match", packed.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s packed, with its tag: status %d, want 304", path, again.Code)
		}
	}
	if none := askDocument(t, s, "/openapi.json", "Accept-Encoding", "gzip;q=0, br"); none.Header().Get("Content-Encoding") != "" {
		t.Error("a client that refuses gzip got it")
	}
}

// Answers get more members from version to version; what is sent is refused if it has one that the server does not know.
func TestAnswersMayGetMoreMembers(t *testing.T) {
	doc := readDocument(t, described(t))
	closed := func(name string) bool {
		var s struct {
			AdditionalProperties any `json:"additionalProperties"`
		}
		if err := json.Unmarshal(doc.Components.Schemas[name], &s); err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
		return s.AdditionalProperties == false
	}
	for _, name := range []string{"BulkAction", "Progress", "Problem", "Counts", "Step"} { // the last is sent, too
		if closed(name) {
			t.Errorf("the schema %s of answers allows no other members", name)
		}
	}
	for _, name := range []string{"Change", "Seal", "Simulation"} {
		if !closed(name) {
			t.Errorf("the schema %s of requests allows members that the server refuses", name)
		}
	}
}
