package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// TestNullIsRefusedOnEveryRoute goes through the server's own document: null in a field that has a type is refused by
// name, wherever it is, and before anything is done.
func TestNullIsRefusedOnEveryRoute(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	n.Call("GET", "/openapi.json", "", 200, &doc)
	seen := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			body := op.RequestBody.Content["application/json"].Schema
			if body.Ref != "" {
				body = doc.Components.Schemas[strings.TrimPrefix(body.Ref, "#/components/schemas/")]
			}
			for field, kind := range body.Properties {
				if kind.Type == nil && kind.Ref == "" { // JSON of the user's own
					continue
				}
				seen++
				var p api.Problem
				n.Call(strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), fmt.Sprintf(`{%q:null}`, field), 422, &p)
				if !slices.ContainsFunc(p.Errors, func(f api.Fault) bool { return f.Field == field && f.Message != "" && f.Fix != "" }) {
					t.Errorf("%s %s, %s: null: %+v", method, path, field, p)
				}
				if types, ok := kind.Type.([]any); ok && slices.Contains(types, any("null")) {
					t.Errorf("%s %s: the document says that %s may be null", method, path, field)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d fields were looked at", seen)
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]schema
}

// TestNullOfOnesOwnIsKept: what is inside documents of users is theirs.
func TestNullOfOnesOwnIsKept(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"params":{"a":null},"items":[{"id":"u1","data":{"b":null}}]}`, 201, nil)
	n.Call("PUT", "/v1/actions/push", `{"url":"https://push.example.com","schema":{"properties":{"a":{"enum":[null,1]}}}}`, 200, nil)
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award","input":{"x":null},"when":null}],"labels":{"a":null},"items":[null]}`, 422, &p)
	var fields []string
	for _, f := range p.Errors {
		fields = append(fields, f.Field)
	}
	if want := "steps[0].input.x steps[0].when labels.a items[0]"; strings.Join(fields, " ") != want {
		t.Errorf("refused: %s\nwant:    %s", strings.Join(fields, " "), want)
	}
}
