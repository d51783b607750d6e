package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/near"
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

// checkNulls refuses null in every field of a route but those that hold JSON of the user's own: it could mean
// "as it is" or "none", and neither is what the author of the other one wants.
func (s *Server) checkNulls(r *route, raw []byte) *problem {
	item := s.api.OpenAPI().Paths[r.path]
	if item == nil || !bytes.Contains(raw, []byte("null")) {
		return nil
	}
	op := operations(item)[r.method]
	if op == nil || op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	var bad weir.InputError
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := dec.ReadToken()
		if err != nil { // its end: it was checked
			break
		}
		if where := dec.StackPointer(); tok.Kind() == 'n' && s.typed(op.RequestBody.Content["application/json"].Schema, where) {
			bad.Add("bad_value", fieldOf(where), "it is null", cmp.Or(r.instead, "leave it out, or give it a value"))
		}
	}
	if len(bad.Fields) == 0 {
		return nil
	}
	return problemOf(&bad)
}

// typed reports whether a place in a body is a field that the route knows the type of.
func (s *Server) typed(at *huma.Schema, where jsontext.Pointer) bool {
	for name := range where.Tokens() {
		at = s.resolved(at)
		switch {
		case at == nil:
			return false
		case at.Items != nil:
			at = at.Items
		case at.Properties[name] != nil:
			at = at.Properties[name]
		default:
			at, _ = at.AdditionalProperties.(*huma.Schema)
		}
	}
	at = s.resolved(at)
	return at != nil && at.Type != ""
}

// hints knows what may have been meant by a field that an operation does not have,
// or not like this.
type hints struct {
	server *Server // nil: nothing is known
	op     *huma.Operation
}

var noHints hints // for requests that no operation has

// setWithResource is said of limits where an action was expected to have them.
const setWithResource = "limits are those of the action's resource: PUT /v1/resources/{name} (weir resources set)"

// fieldFixes are the fixes of fields that people look for in the wrong place, by operation and field.
var fieldFixes = map[string]string{
	"action.put rate": setWithResource, "action.put rates": setWithResource, "action.put concurrency": setWithResource,
	"bulk_action.create rate":  "write rates with the step's id, as in {\"rates\": {\"notify\": \"50/s\"}}",
	"bulk_action.trial items":  "write the ids of the items, as in [\"u1\", \"u2\"]; first says how many from the beginning",
	"bulk_action.create items": "write a list, as in [{\"id\": \"u1\", \"data\": {}}]",
}

// typeFixes say what to write instead of a value of another type.
var typeFixes = map[string]string{
	validation.MsgExpectedArray: "write a list, as in [ … ]", validation.MsgExpectedObject: "write an object, as in { … }",
	validation.MsgExpectedString: "write a text in quotes", validation.MsgExpectedBoolean: "write true or false",
	validation.MsgExpectedNumber:  "write a number, without quotes",
	validation.MsgExpectedInteger: "write a whole number, without quotes",
}

// special is the fix of a field that has one of its own.
func (h hints) special(location string) string {
	if h.op == nil {
		return ""
	}
	return fieldFixes[h.op.OperationID+" "+strings.TrimPrefix(location, "body.")]
}

// mistyped says what to write where a value has the wrong type.
func (h hints) mistyped(d *huma.ErrorDetail) string {
	return cmp.Or(h.special(d.Location), typeFixes[d.Message])
}

// unknown suggests a field for an unknown one.
func (h hints) unknown(location string) string {
	if fix := h.special(location); fix != "" {
		return fix
	}
	var known []string
	if h.server != nil {
		known = h.server.knownFields(h.op, location)
	}
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
		docs := "/docs"
		if h.server != nil {
			docs = h.server.at(docs)
		}
		return "see " + docs + " for the list of routes"
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
	_, ok := members[field]
	return ok
}
