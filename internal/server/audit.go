package server

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

// audits serves the audit log.
type audits struct {
	*Server
	of *access.Audit
}

func (s *Server) auditRoutes() {
	schemas := s.api.OpenAPI().Components.Schemas
	add(s, get(access.Admin, "audit.list", "/v1/audit", "access", "List the audit log, the newest change first").
		about("Shows who changed what, when and from where. With format=csv or ndjson, the response has all matching "+
			"entries, not one page.").
		responds(map[string]*huma.Response{"200": {Description: "The changes", Content: map[string]*huma.MediaType{
			"application/json":     {Schema: schemas.Schema(reflect.TypeFor[api.Page[api.AuditEntry]](), true, "")},
			"application/x-ndjson": {Schema: schemas.Schema(reflect.TypeFor[api.AuditEntry](), true, "")},
			"text/csv":             {Schema: &huma.Schema{Type: huma.TypeString}},
		}}}), audits{s, s.opts.Audit}.listAudit)
}

type auditInput struct {
	Paging
	Tenant string    `query:"tenant" maxLength:"128"`
	Target string    `query:"target" maxLength:"256" doc:"Id or name of the changed object"`
	Actor  string    `query:"actor" maxLength:"128" doc:"Id of the API key"`
	Action string    `query:"action" maxLength:"128" doc:"The change; a value that ends with a dot is a prefix" example:"bulk_action.cancel"`
	From   time.Time `query:"from" doc:"Only changes at or after this time"`
	To     time.Time `query:"to" doc:"Only changes before this time"`
	Format string    `query:"format" enum:"json,csv,ndjson" default:"json"`
}

func (in *auditInput) filter() access.AuditFilter {
	return access.AuditFilter{Tenant: in.Tenant, Target: in.Target, Actor: in.Actor, Action: in.Action, From: in.From, To: in.To}
}

func (s audits) listAudit(ctx context.Context, in *auditInput) (*huma.StreamResponse, error) {
	if !in.From.IsZero() && !in.To.IsZero() && !in.From.Before(in.To) {
		return nil, &weir.FieldError{Code: "bad_filter", Field: "from", Problem: "is not before to", Fix: "swap them"}
	}
	list := []string{"audit", in.Tenant, in.Target, in.Actor, in.Action, in.From.String(), in.To.String()}
	after, err := openCursor(in.Cursor, list...)
	if err != nil {
		return nil, err
	}
	if in.Format == "csv" || in.Format == "ndjson" {
		return s.exportAudit(ctx, in, after)
	}
	found, next, err := s.of.List(ctx, caller(ctx), in.filter(), after, in.Limit)
	if err != nil {
		return nil, err
	}
	page := pageWith([]api.AuditEntry{}, next, list...)
	for i := range found {
		page.Data = append(page.Data, viewAudit(&found[i]))
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		h.SetHeader("Content-Type", "application/json")
		_ = json.NewEncoder(h.BodyWriter()).Encode(page) // the client is gone
	}}, nil
}

func viewAudit(e *access.AuditEntry) api.AuditEntry {
	return api.AuditEntry{
		ID: e.ID, At: e.At, Key: e.KeyID, Actor: e.KeyName, From: e.From, Action: e.Action, Target: e.Target,
		Tenant: e.Tenant, Reason: e.Reason,
		Before: e.Before, After: e.After, RequestID: e.RequestID,
	}
}
