package server

import (
	"context"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) connectionRoutes() {
	n := named{"connection", access.Admin}
	add(s, n.list("List connections, by name",
		"Keys bound to tenants see the connections that their tenants may use."), s.listConnections)
	add(s, n.get("Get a connection",
		"Secrets are never shown: `[secret]` stands for one."), s.getConnection)
	add(s, n.put("Create or change a connection",
		"A secret sent as `[secret]` does not change. It overrides a connection of the configuration file with the same name, also after restarts. Keys bound to tenants create connections for one of their tenants only."), s.putConnection)
	add(s, n.delete("Delete a connection",
		"If the configuration file has a connection of this name, that connection applies again. Otherwise sources that need it fail from then on."), s.deleteConnection)
	add(s, n.test(access.Admin, "Test a connection",
		"With a source, reads its first items."), s.testConnection)
}

func (s *Server) listConnections(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Connection]], error) {
	all, err := s.svc.Connections(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c api.Connection) bool { return !seesAny(ctx, c.Tenants) })
	for i := range all {
		all[i].File = seenFile(ctx, all[i].File)
	}
	return paged(all, func(c *api.Connection) string { return c.Name }, in.Paging, "connection")
}

func (s *Server) getConnection(ctx context.Context, in *Name) (*tagged[api.Connection], error) {
	c, version, err := s.svc.Connection(ctx, in.Name)
	c.File = seenFile(ctx, c.File)
	return answerTagged(c, version, seen(ctx, c.Tenants, err))
}

// seenFile returns what the file says of a connection to callers who may see that.
func seenFile(ctx context.Context, file *api.Connection) *api.Connection {
	if file == nil || !seesAny(ctx, file.Tenants) {
		return nil
	}
	return file
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
	if len(c.Tenants) == 0 {
		c.Tenants = caller(ctx).Tenants
	}
	if !covers(ctx, c.Tenants) {
		return nil, &weir.FieldError{Code: "bad_value", Field: "tenants", Problem: "the key is not for these tenants", Fix: "name a tenant of the key, or use another key"}
	}
	changed(ctx, c.Name, "")
	noteBefore(ctx, c.Name, s.svc.Connection)
	out, version, err := s.svc.PutConnection(ctx, c, caller(ctx).KeyID, in.match, mayChangeConnection(ctx))
	visitOf(ctx).after = out
	return answerTagged(out, version, err)
}

func mayChangeConnection(ctx context.Context) func(api.Connection) error {
	return func(c api.Connection) error { return mayChange(ctx, c.Tenants) }
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
	if err := seen(ctx, c.Tenants, err); err != nil {
		return nil, err
	}
	changed(ctx, c.Name, "")
	var test api.ConnectionTest
	if in.Body != nil {
		test = *in.Body
	}
	return answer(s.svc.TestConnection(ctx, c.Name, test))
}
