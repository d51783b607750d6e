package server

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/callback"
)

// eventTexts says when an event is sent.
var eventTexts = map[string]string{
	callback.TypeCanaryReady: "The canary of a bulk action has ended: the bulk action waits for approval",
	callback.TypeCompleted:   "A bulk action has completed",
	callback.TypeStopped:     "A rule has stopped a bulk action",
	callback.TypeCancelled:   "A bulk action was cancelled",
	callback.TypeFailed:      "A bulk action failed before it could start",
	callback.TypeLate:        "A bulk action will not meet its deadline",
	callback.TypePing:        "A webhook is tested",
}

// describeEvents writes the webhooks section of the document: the requests that receivers of events get.
func (s *Server) describeEvents() {
	doc := s.api.OpenAPI()
	doc.Components.Parameters = map[string]*huma.Param{}
	var headers []*huma.Param
	for _, p := range []struct{ name, text string }{
		{"Webhook-Id", "Id of the event: the same in each attempt to deliver it"},
		{"Webhook-Timestamp", "When this attempt was made, in seconds since 1970"},
		{"Webhook-Signature", "Signatures as defined by Standard Webhooks, with spaces between them: v1,… or v1a,…. Not sent for a callback without a secret"},
	} {
		name := headerName(p.name)
		doc.Components.Parameters[name] = &huma.Param{Name: p.name, In: "header", Description: p.text,
			Required: p.name != "Webhook-Signature", Schema: &huma.Schema{Type: huma.TypeString}}
		headers = append(headers, &huma.Param{Ref: "#/components/parameters/" + name})
	}
	about := s.eventSchema("BulkActionEvent", callback.Types(), s.schemaOf(reflect.TypeFor[api.BulkAction]()))
	test := s.eventSchema("TestEvent", []string{callback.TypePing}, &huma.Schema{Type: huma.TypeObject, Required: []string{"message"},
		Properties: map[string]*huma.Schema{"message": {Type: huma.TypeString}}})
	doc.Webhooks = map[string]*huma.PathItem{}
	for name, text := range eventTexts {
		body := about
		if name == callback.TypePing {
			body = test
		}
		doc.Webhooks[name] = &huma.PathItem{Post: &huma.Operation{
			OperationID: "event." + strings.ReplaceAll(name, ".", "_"), Tags: []string{"webhooks"}, Summary: text,
			Description: "Sent to webhooks, and to the callback of the bulk action. Sent again, with the same id and bytes, until it is answered.",
			Security:    []map[string][]string{{}}, Parameters: headers,
			RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/cloudevents+json": {Schema: body}}},
			Responses: map[string]*huma.Response{
				"2XX":     {Description: "The event has arrived"},
				"410":     {Description: http.StatusText(http.StatusGone) + ": no more events are sent, and the webhook is disabled"},
				"default": {Description: "The event is sent again later, as Retry-After asks"},
			},
		}}
	}
}

// eventSchema adds the schema of events with data of one kind.
func (s *Server) eventSchema(name string, types []string, data *huma.Schema) *huma.Schema {
	schemas := s.api.OpenAPI().Components.Schemas
	event := huma.SchemaFromType(schemas, reflect.TypeFor[callback.CloudEvent]())
	event.AdditionalProperties = nil // events may get more members
	event.Properties["data"] = data
	event.Required = append(event.Required, "data")
	listed(event.Properties["type"], types)
	schemas.Map()[name] = event
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// describeCodes lists the values of fields whose set is closed in this version.
func (s *Server) describeCodes() {
	all := s.api.OpenAPI().Components.Schemas.Map()
	listed(all["Problem"].Properties["code"], slices.Sorted(maps.Keys(meanings)))
	listed(all["Delivery"].Properties["type"], append(callback.Types(), callback.TypePing))
	listed(all["DeliveryAttempt"].Properties["code"], callback.Codes())
	listed(all["Webhook"].Properties["events"].Items, callback.Types())
	var short []string
	for _, t := range callback.Types() {
		short = append(short, strings.TrimPrefix(t, "bulk_action."))
	}
	listed(all["Callback"].Properties["events"].Items, append(short, callback.Types()...))
}

// listed says which values a schema has.
func listed[T ~string](schema *huma.Schema, values []T) {
	schema.Enum = nil
	for _, v := range values {
		schema.Enum = append(schema.Enum, string(v))
	}
	schema.PrecomputeMessages()
}
