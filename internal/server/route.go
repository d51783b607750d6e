package server

import (
	"context"
	"net/http"

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
}

// endpoint describes a route.
type endpoint struct {
	huma.Operation
	route
}

// add registers an endpoint. Its errors become problems.
func add[I, O any](s *Server, e endpoint, do func(context.Context, *I) (*O, error)) {
	r := e.route
	r.id, r.method, r.path = e.OperationID, e.Method, e.Path
	s.routes[e.Method+" "+e.Path] = &r
	op := e.Operation
	if r.scope != "" || r.known {
		op.Security = []map[string][]string{{"key": {}}}
	}
	if r.scope != "" {
		op.Description += "\n\nNeeds the scope `" + string(r.scope) + "`."
	}
	op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // the guard has the limits
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusRequestTimeout, http.StatusGone, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusInsufficientStorage)
	if r.keyed {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: ptr(255)},
			Description: "A repeat with the same key and body gets the first response and changes nothing.",
		})
	}
	content := op.RequestBody
	if r.stream { // huma would read it; it is only described
		op.RequestBody = nil
		defer func() { s.api.OpenAPI().Paths[op.Path].Post.RequestBody = content }()
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			v := visitOf(ctx)
			v.undecided = undecided(err, v.begun)
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

func ptr[T any](v T) *T { return &v }

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
