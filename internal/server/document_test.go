package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
