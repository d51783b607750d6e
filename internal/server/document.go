package server

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// projectURL is where the project is at home.
const projectURL = "https://github.com/weirhq/weir"

// bulkTag is the group of routes about bulk actions.
const bulkTag = "bulk actions"

// tagTexts describes the groups of routes.
var tagTexts = map[string]string{
	"access":           "API keys, what the caller's own key may do, and the audit log.",
	"actions":          "What is done with each item: an HTTP endpoint, or a function of the program.",
	"before the start": "Check a draft: its bad and repeated rows, a preview, a trial with some items, and a forecast.",
	bulkTag:            "Create, start, pause, cancel, retry and undo bulk actions.",
	"connections":      "Databases, object stores and brokers that items are read from.",
	"failed items":     "Failed items of all bulk actions: retry, discard or export them.",
	"fleet":            "Nodes, partitions, lanes, and the number of workers that is needed.",
	"health":           "Probes for load balancers and orchestrators.",
	"items":            "Add items to a bulk action, and read how each of them is.",
	"reports":          "The report of a bulk action, and the results of its items as a file.",
	"resources":        "Limits and circuits of the services that actions call.",
	"schedules":        "Create bulk actions at the times of a cron expression.",
	"templates":        "Bulk actions with parameters, to be created again by name.",
	"tenants":          "Shares and quotas of tenants.",
	"uploads":          "Resumable uploads of files with items, by the protocol tus 1.0.",
	"watching":         "The progress of a bulk action, as a snapshot or as a stream of events.",
	"webhooks":         "Endpoints that receive events, and the deliveries to them.",
}

// failure is a kind of error response that operations refer to.
type failure struct {
	status  int // 0: any other
	name    string
	text    string
	headers []string
}

var failures = []failure{
	{http.StatusBadRequest, "BadRequest", "The request cannot be read, or a parameter is invalid.", nil},
	{http.StatusUnauthorized, "Unauthorized", "The request has no valid API key.", []string{"WWW-Authenticate"}},
	{http.StatusForbidden, "Forbidden", "The API key may not do this.", nil},
	{http.StatusNotFound, "NotFound", "It does not exist, or the API key has no access to it.", nil},
	{http.StatusConflict, "Conflict", "Its state does not allow this, or it contradicts another request.", []string{"Retry-After"}},
	{http.StatusPreconditionFailed, "PreconditionFailed", "It was changed since it was read.", nil},
	{http.StatusRequestEntityTooLarge, "ContentTooLarge", "The body is too large.", nil},
	{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "The route does not read this Content-Type.", nil},
	{http.StatusUnprocessableEntity, "UnprocessableContent", "A field of the body is invalid.", nil},
	{http.StatusTooManyRequests, "TooManyRequests", "The API key or the tenant has reached a limit.",
		[]string{"Retry-After", "RateLimit", "RateLimit-Policy"}},
	{0, "Failure", "Any other error. The server may be busy, stopping or without its store.", []string{"Retry-After"}},
}

// headerTexts describes the headers of responses.
var headerTexts = map[string]string{
	"Content-Disposition":  "Name of the file",
	"ETag":                 "Version of what was returned: send it as If-Match to change only this version",
	"Idempotency-Replayed": "true in the response to a repeat, which changed nothing",
	"Location":             "URL of what was created",
	"RateLimit":            "Requests that the key has left, and seconds until all are there again",
	"RateLimit-Policy":     "Requests a second that the key may send",
	"Retry-After":          "Seconds to wait before the request is sent again",
	"Tus-Resumable":        "Version of the protocol: 1.0.0",
	"Upload-Length":        "Bytes of the whole upload",
	"Upload-Offset":        "Bytes received so far",
	"WWW-Authenticate":     "Bearer",
}

// complete adds what huma does not know of: it describes groups of routes, errors and headers once, and refers to
// them. It runs after all routes are registered.
func (s *Server) complete() {
	doc := s.api.OpenAPI()
	for _, name := range slices.Sorted(maps.Keys(tagTexts)) {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: name, Description: tagTexts[name]})
	}
	doc.Components.Headers = map[string]*huma.Header{}
	for name, text := range headerTexts {
		doc.Components.Headers[headerName(name)] = &huma.Header{Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	body := s.schemaOf(reflect.TypeFor[problem]())
	doc.Components.Responses = map[string]*huma.Response{}
	for _, f := range failures {
		r := &huma.Response{Description: f.text, Content: map[string]*huma.MediaType{"application/problem+json": {Schema: body}}}
		for _, h := range f.headers {
			refer(r, h)
		}
		doc.Components.Responses[f.name] = r
	}
	for path, item := range doc.Paths {
		for method, op := range operations(item) {
			s.completeOperation(op, s.routes[method+" "+path])
		}
	}
	s.describeEvents()
	s.describeCodes()
}

// completeOperation lets an operation refer to errors and headers.
func (s *Server) completeOperation(op *huma.Operation, r *route) {
	if len(op.Security) == 0 {
		op.Security = []map[string][]string{{}} // none is needed
	}
	for _, out := range op.Responses {
		if r.keyed {
			refer(out, "Idempotency-Replayed")
		}
		for name := range out.Headers {
			if headerTexts[name] != "" {
				refer(out, name)
			}
		}
	}
	for _, f := range failures {
		status := "default"
		if f.status != 0 {
			status = strconv.Itoa(f.status)
		}
		if mayFail(op, r, f.status) {
			op.Responses[status] = &huma.Response{Ref: "#/components/responses/" + f.name}
		}
	}
}

// mayFail reports whether the document lists a status for an operation: what follows from its form. All others are its
// default.
func mayFail(op *huma.Operation, r *route, status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return r.scope != "" || r.known
	}
	if op.Tags[0] == uploadTag { // the protocol has its own
		return false
	}
	switch status {
	case http.StatusNotFound:
		return strings.Contains(op.Path, "{")
	case http.StatusConflict:
		return r.change
	case http.StatusPreconditionFailed:
		return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == "If-Match" })
	case http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return op.RequestBody != nil
	}
	return true
}

// schemaOf refers to the schema of a type.
func (s *Server) schemaOf(t reflect.Type) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// refer adds a header to a response.
func refer(r *huma.Response, name string) {
	if r.Headers == nil {
		r.Headers = map[string]*huma.Header{}
	}
	r.Headers[name] = &huma.Header{Ref: "#/components/headers/" + headerName(name)}
}

// headerName is the name of a header among the components, which generators make types of.
func headerName(header string) string { return strings.ReplaceAll(header, "-", "") + "Header" }
