package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/access"
)

const connectionPath = "/v1/connections"

func (s *Server) connectionRoutes() {
	tags := []string{"connections"}
	add(s, endpoint{huma.Operation{
		OperationID: "connection.list", Method: http.MethodGet, Path: connectionPath, Summary: "List connections, by name", Tags: tags,
		Description: "Keys for tenants see those that their tenants may use.",
	}, route{scope: access.Read}}, s.listConnections)
	add(s, endpoint{huma.Operation{
		OperationID: "connection.get", Method: http.MethodGet, Path: connectionPath + "/{name}", Summary: "Get a connection", Tags: tags,
		Description: "Secrets are never shown: `[secret]` stands for one.",
	}, route{scope: access.Read}}, s.getConnection)
	add(s, endpoint{huma.Operation{
		OperationID: "connection.put", Method: http.MethodPut, Path: connectionPath + "/{name}", Summary: "Make or change a connection", Tags: tags, Errors: []int{http.StatusPreconditionFailed},
		Description: "A secret sent as `[secret]` stays as it is. Connections of the configuration file cannot be changed. Keys for tenants make connections for one of their tenants only.",
	}, route{scope: access.Admin, change: true}}, s.putConnection)
	add(s, endpoint{huma.Operation{
		OperationID: "connection.delete", Method: http.MethodDelete, Path: connectionPath + "/{name}", Summary: "Delete a connection", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "Sources that need it fail from then on.", Errors: []int{http.StatusPreconditionFailed},
	}, route{scope: access.Admin, change: true}}, s.deleteConnection)
	add(s, endpoint{huma.Operation{
		OperationID: "connection.test", Method: http.MethodPost, Path: connectionPath + "/{name}/test", Summary: "Find out whether a connection works", Tags: tags,
		Description: "With a source, its first items are read.",
	}, route{scope: access.Admin, change: true, keyed: true}}, s.testConnection)
}

// of is for whom a connection is.
func of(c *api.Connection) []string {
	return c.Tenants
}

func (s *Server) listConnections(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Connection]], error) {
	all, err := s.svc.Connections(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c api.Connection) bool { return !seesAny(ctx, of(&c)) })
	return paged(all, func(c *api.Connection) string { return c.Name }, in.Paging, "connection")
}

func (s *Server) getConnection(ctx context.Context, in *Name) (*tagged[api.Connection], error) {
	c, version, err := s.svc.Connection(ctx, in.Name)
	if err == nil && !seesAny(ctx, of(&c)) {
		err = weir.ErrNotFound
	}
	return answerTagged(c, version, err)
}

type putConnectionInput struct {
	Name
	Conditions
	Body api.Connection
}

func (s *Server) putConnection(ctx context.Context, in *putConnectionInput) (*tagged[api.Connection], error) {
	c := in.Body
	if err := sameName(c.Name, in.Name.Name); err != nil {
		return nil, err
	}
	c.Name = in.Name.Name
	if who := caller(ctx); len(c.Tenants) == 0 {
		c.Tenants = who.Tenants
	}
	if !covers(ctx, of(&c)) {
		return nil, &weir.FieldError{Code: "bad_value", Field: "tenants", Problem: "the key is not for these tenants", Fix: "name a tenant of the key, or use another key"}
	}
	changed(ctx, c.Name, "")
	if before, _, err := s.svc.Connection(ctx, c.Name); err == nil {
		visitOf(ctx).before = before
	}
	out, version, err := s.svc.PutConnection(ctx, c, in.match, mayChangeConnection(ctx))
	visitOf(ctx).after = out
	return answerTagged(out, version, err)
}

// mayChangeConnection refuses to change what is others', too. That is told only to those who see it.
func mayChangeConnection(ctx context.Context) func(api.Connection) error {
	return func(c api.Connection) error {
		switch {
		case covers(ctx, of(&c)):
			return nil
		case !seesAny(ctx, of(&c)):
			return weir.ErrNotFound
		}
		return overall(ctx)
	}
}

func (s *Server) deleteConnection(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	changed(ctx, in.Name.Name, "")
	return nil, s.svc.DeleteConnection(ctx, in.Name.Name, in.match, mayChangeConnection(ctx))
}

type testConnectionInput struct {
	Name
	Body *api.ConnectionTest
}

func (s *Server) testConnection(ctx context.Context, in *testConnectionInput) (*body[api.ConnectionResult], error) {
	c, _, err := s.svc.Connection(ctx, in.Name.Name)
	if err == nil && !seesAny(ctx, of(&c)) {
		err = weir.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	changed(ctx, c.Name, "")
	var test api.ConnectionTest
	if in.Body != nil {
		test = *in.Body
	}
	return answer(s.svc.TestConnection(ctx, c.Name, test))
}
