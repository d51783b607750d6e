package server

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// openSchemas is the schemas as the document has them. Members are added to answers from version to version, and clients
// ignore what they do not know: so a schema that an answer has allows others. What is only sent to the server stays
// closed, as the server is: it refuses fields that it does not know.
type openSchemas struct {
	huma.Registry
	answers map[string]bool // names of schemas that answers have
}

// openAnswers returns a document whose answers may have more members.
func openAnswers(doc *huma.OpenAPI) *huma.OpenAPI {
	s := openSchemas{doc.Components.Schemas, map[string]bool{}}
	for _, item := range doc.Paths {
		for _, op := range operations(item) {
			for _, r := range op.Responses {
				s.addResponse(r)
			}
		}
	}
	for _, r := range doc.Components.Responses {
		s.addResponse(r)
	}
	open, parts := *doc, *doc.Components
	parts.Schemas = s
	open.Components = &parts
	return &open
}

func (s openSchemas) addResponse(r *huma.Response) {
	for _, m := range r.Content {
		s.add(m.Schema)
	}
}

// add notes a schema and all that it refers to.
func (s openSchemas) add(of *huma.Schema) {
	if of == nil {
		return
	}
	if name, ok := strings.CutPrefix(of.Ref, "#/components/schemas/"); ok {
		if !s.answers[name] {
			s.answers[name] = true
			s.add(s.Map()[name])
		}
		return
	}
	s.add(of.Items)
	for _, p := range of.Properties {
		s.add(p)
	}
	for _, list := range [][]*huma.Schema{of.OneOf, of.AnyOf, of.AllOf} {
		for _, one := range list {
			s.add(one)
		}
	}
	if more, ok := of.AdditionalProperties.(*huma.Schema); ok {
		s.add(more)
	}
}

// MarshalJSON implements json.Marshaler.
func (s openSchemas) MarshalJSON() ([]byte, error) {
	all := maps.Clone(s.Map())
	for name := range s.answers {
		if of := all[name]; of.AdditionalProperties == false {
			open := *of
			open.AdditionalProperties = nil
			all[name] = &open
		}
	}
	return json.Marshal(all)
}
