package server_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

var updateFields = flag.Bool("update-fields", false, "write testdata/fields.golden anew")

// TestSettableFieldsAreThoseInTheList: a field that callers can set is added on purpose, with the list, or not at all.
func TestSettableFieldsAreThoseInTheList(t *testing.T) {
	w := start(t, opening{})
	got := settable(w.node.Server().OpenAPI())
	name := filepath.Join("testdata", "fields.golden")
	if *updateFields {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	have, listed := strings.Split(got, "\n"), strings.Split(string(raw), "\n")
	for _, field := range have {
		if !slices.Contains(listed, field) {
			t.Errorf("%s can be set and is not in %s: if it may, run the test with -update-fields", field, name)
		}
	}
	for _, field := range listed {
		if !slices.Contains(have, field) {
			t.Errorf("%s is in %s and cannot be set any more: if that is right, run the test with -update-fields", field, name)
		}
	}
}

// settable lists what callers can set: parameters, and fields of bodies that are not read-only.
func settable(doc *huma.OpenAPI) string {
	var lines []string
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{
			"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete, "HEAD": item.Head,
		} {
			if op == nil {
				continue
			}
			at := method + " " + path
			for _, p := range op.Parameters {
				lines = append(lines, fmt.Sprintf("%s %s:%s", at, p.In, p.Name))
			}
			if op.RequestBody == nil {
				continue
			}
			for kind, content := range op.RequestBody.Content {
				lines = append(lines, at+" "+kind)
				fields(doc, content.Schema, at+" ", nil, &lines)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// fields adds the fields of a schema; within keeps schemas that hold themselves from going on for ever.
func fields(doc *huma.OpenAPI, s *huma.Schema, at string, within []string, lines *[]string) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		if slices.Contains(within, s.Ref) {
			return
		}
		fields(doc, doc.Components.Schemas.SchemaFromRef(s.Ref), at, append(within, s.Ref), lines)
		return
	}
	fields(doc, s.Items, strings.TrimSuffix(at, ".")+"[].", within, lines)
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		fields(doc, more, at+"*.", within, lines)
	}
	for name, p := range s.Properties {
		if p.ReadOnly {
			continue
		}
		*lines = append(*lines, at+name)
		fields(doc, p, at+name+".", within, lines)
	}
}
