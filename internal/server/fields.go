package server

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/internal/near"
)

// knownFields lists the fields that there are where an unknown one was found: at
// its place in the body of an operation, or among its query parameters.
func (s *Server) knownFields(op *huma.Operation, location string) []string {
	if op == nil {
		return nil
	}
	if strings.HasPrefix(location, "query.") {
		var names []string
		for _, p := range op.Parameters {
			if p.In == "query" {
				names = append(names, p.Name)
			}
		}
		return names
	}
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	at := s.resolved(op.RequestBody.Content["application/json"].Schema)
	path := strings.Split(strings.TrimPrefix(location, "body."), ".")
	for _, name := range path[:len(path)-1] {
		if at = s.below(at, name); at == nil {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(at.Properties))
}

// below is the schema of a field, as in steps[3], of an object.
func (s *Server) below(at *huma.Schema, name string) *huma.Schema {
	if at == nil {
		return nil
	}
	name, _, list := strings.Cut(name, "[")
	field := s.resolved(at.Properties[name])
	if list && field != nil {
		field = s.resolved(field.Items)
	}
	return field
}

func (s *Server) resolved(schema *huma.Schema) *huma.Schema {
	if schema == nil || schema.Ref == "" {
		return schema
	}
	return s.api.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
}

// meant says which field somebody may have meant who wrote an unknown one.
func meant(location string, known []string) string {
	name := location[strings.LastIndexByte(location, '.')+1:]
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return "did you mean " + k + "?"
		}
	}
	if word := near.Word(name, known); word != "" {
		return "did you mean " + word + "?"
	}
	if len(known) == 0 || len(known) > 12 {
		return "see /docs for what there is"
	}
	return "there are " + strings.Join(known, ", ")
}

// shownValue is a value as it may be told back: short, and no secret.
func shownValue(field string, value any) string {
	if maySecret(field) {
		return ""
	}
	return shorten(value)
}

// given reports whether a request has a field, whatever its value: zero is not the same as nothing.
func given(ctx context.Context, field string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(visitOf(ctx).raw, &members) // it was checked
	raw, ok := members[field]
	return ok && string(raw) != "null"
}
