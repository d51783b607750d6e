package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/records"
)

func (s *Server) connections() *collection[api.Connection] {
	may := func(ctx context.Context) func(api.Connection) error {
		return func(c api.Connection) error { return mayChange(ctx, c.Tenants) }
	}
	return &collection[api.Connection]{
		named: named{"connection", access.Admin}, all: s.svc.Connections.All, get: s.svc.Connections.Get,
		set: func(ctx context.Context, c api.Connection, match records.Match) (api.Connection, string, error) {
			return s.svc.Connections.Put(ctx, c, caller(ctx).KeyID, match, may(ctx))
		},
		drop: func(ctx context.Context, name string, match records.Match) error {
			return s.svc.Connections.Delete(ctx, name, match, may(ctx))
		},
		name: func(c *api.Connection) *string { return &c.Name },
		sees: func(ctx context.Context, c api.Connection) (api.Connection, bool) {
			c.File = seenFile(ctx, c.File)
			return c, seesAny(ctx, c.Tenants)
		},
		prepare: func(ctx context.Context, c *api.Connection) error {
			return ownTenants(ctx, &c.Tenants, "the key is not for these tenants", "name a tenant of the key, or use another key")
		},
	}
}

func (s *Server) connectionRoutes() {
	r := s.connections()
	r.serve(s,
		r.list("List connections, by name").about("Keys bound to tenants see the connections that their tenants may use."),
		r.one("Get a connection").about("Secrets are never shown: `[secret]` stands for one."),
		r.put("Create or change a connection").about("A secret sent as `[secret]` does not change. It overrides a "+
			"connection of the configuration file with the same name, also after restarts. Keys bound to tenants create "+
			"connections for one of their tenants only."),
		r.remove("Delete a connection").about("If the configuration file has a connection of this name, that connection "+
			"applies again. Otherwise sources that need it fail from then on."))
	add(s, r.test(access.Admin, "Test a connection").about("With a source, reads its first items."), s.testConnection)
}

// seenFile returns what the file says of a connection to callers who may see that.
func seenFile(ctx context.Context, file *api.Connection) *api.Connection {
	if file == nil || !seesAny(ctx, file.Tenants) {
		return nil
	}
	return file
}

func (s *Server) testConnection(ctx context.Context, in *aboutNamed[*api.ConnectionTest]) (*body[api.ConnectionResult], error) {
	c, _, err := s.connections().find(ctx, in.Name.Name)
	if err != nil {
		return nil, err
	}
	changed(ctx, c.Name, "")
	test := orZero(in.Body)
	return answer(s.svc.Connections.Test(ctx, c.Name, test))
}
