package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/internal/service/access"
)

// route holds the properties of a route besides its endpoint.
type route struct {
	id     string
	method string
	path   string
	// scope is the scope that a key needs; empty: no key is required, unless known is set.
	scope access.Scope
	// known says that any valid key is enough.
	known bool
	// anyHost says that it answers under every name: load balancers probe with names of their own.
	anyHost bool
	// change says that it changes something: it is audited.
	change bool
	// stream says that its body is read as it comes, and not checked as JSON beforehand.
	stream bool
	// keyed says that repeating it would do it twice: its answers are kept for repeats with the same Idempotency-Key.
	keyed bool
	// once is the member of its answer that is shown once: the answer is kept for repeats without it.
	once string
	// instead says what to write instead of null.
	instead string
	// only refuses callers; nil: the scope is enough.
	only func(context.Context) error
}

// endpoint describes a route.
type endpoint struct {
	huma.Operation
	route
}

func describe(method string, r route, id, path, tag, summary string) endpoint {
	return endpoint{huma.Operation{OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary}, r}
}

// get describes a route that reads.
func get(scope access.Scope, id, path, tag, summary string) endpoint {
	return describe(http.MethodGet, route{scope: scope}, id, path, tag, summary)
}

// ask describes a route that reads, and takes a body for it.
func ask(scope access.Scope, id, path, tag, summary string) endpoint {
	return describe(http.MethodPost, route{scope: scope}, id, path, tag, summary)
}

// post describes a command: repeating it would do it twice.
func post(scope access.Scope, id, path, tag, summary string) endpoint {
	return describe(http.MethodPost, route{scope: scope, change: true, keyed: true}, id, path, tag, summary)
}

// put describes a route that replaces something.
func put(scope access.Scope, id, path, tag, summary string) endpoint {
	return describe(http.MethodPut, route{scope: scope, change: true}, id, path, tag, summary)
}

// patch describes a route that changes parts of something.
func patch(scope access.Scope, id, path, tag, summary string) endpoint {
	return describe(http.MethodPatch, route{scope: scope, change: true}, id, path, tag, summary)
}

// del describes a route that removes something, and answers without a body.
func del(scope access.Scope, id, path, tag, summary string) endpoint {
	e := describe(http.MethodDelete, route{scope: scope, change: true}, id, path, tag, summary)
	e.DefaultStatus = http.StatusNoContent
	return e
}

// about adds a description.
func (e endpoint) about(text string) endpoint { e.Description += text; return e }

// creates says that it answers 201.
func (e endpoint) creates() endpoint { e.DefaultStatus = http.StatusCreated; return e }

// withBody says that it answers with a body.
func (e endpoint) withBody() endpoint { e.DefaultStatus = http.StatusOK; return e }

// showsOnce names the member of its answer that is shown once.
func (e endpoint) showsOnce(member string) endpoint { e.once = member; return e }

// responds describes answers that huma cannot derive from a type.
func (e endpoint) responds(r map[string]*huma.Response) endpoint { e.Responses = r; return e }

// anywhere says that it answers under every name of the server.
func (e endpoint) anywhere() endpoint { e.anyHost = true; return e }

// where refuses requests for which only returns an error.
func (e endpoint) where(only func(context.Context) error) endpoint { e.only = only; return e }

// forOperators serves keys that see what all tenants share; see [operators].
func (e endpoint) forOperators() endpoint {
	e.only = operators
	return e.about(" Only for keys that are not bound to tenants, or that have the scope `control`.")
}

// forAll serves keys that may change what all tenants share, or see sums of all; see [overall].
func (e endpoint) forAll() endpoint {
	e.only = overall
	return e.about(" Only for keys that are not bound to tenants.")
}

// add registers an endpoint. Its errors become problems.
func add[I, O any](s *Server, e endpoint, do func(context.Context, *I) (*O, error)) {
	r := e.route
	r.id, r.method, r.path = e.OperationID, e.Method, e.Path
	s.routes[e.Method+" "+e.Path] = &r
	op := e.Operation
	if r.scope != "" || r.known {
		op.Security = []map[string][]string{{bearerScheme: {}}}
	}
	if r.scope != "" {
		op.Description = strings.TrimSpace(op.Description + "\n\nNeeds the scope `" + string(r.scope) + "`.")
	}
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // the guard has the limits
	if r.keyed {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: ptr(255)},
			Description: "A repeat with the same key and body gets the first response and changes nothing.",
		})
	}
	if r.keyed && op.Tags[0] == bulkTag {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "traceparent", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "Trace of the caller, as W3C Trace Context defines it. A bulk action that the request creates belongs to this trace.",
		})
	}
	content := op.RequestBody
	if r.stream { // huma would read it; it is only described
		op.RequestBody = nil
		defer func() { s.api.OpenAPI().Paths[op.Path].Post.RequestBody = content }()
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (out *O, err error) {
		if r.only != nil {
			err = r.only(ctx)
		}
		if err == nil {
			out, err = do(ctx, in)
		}
		if err != nil {
			v := visitOf(ctx)
			v.undecided = undecided(err, v.begun)
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

func ptr[T any](v T) *T { return &v }

// orZero returns an optional body.
func orZero[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}

// request is a body without parameters.
type request[B any] struct {
	Body B
}

// body is an answer of one JSON value.
type body[T any] struct {
	Body T
}

func answer[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// tagged is an answer with an entity tag.
type tagged[T any] struct {
	ETag string `header:"ETag"`
	Body T
}

// made is the answer to what was created.
type made[T any] struct {
	Location string `header:"Location"`
	Body     T
}

// Paging holds the parameters of a list; exported for huma.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum entries per page"`
	Cursor string `query:"cursor" maxLength:"512" doc:"next_cursor of the previous page"`
}
