package server

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/result"
)

func (s *Server) dlqRoutes() {
	tag := "failed items"
	add(s, get(access.Read, "dlq.groups", "/v1/dlq/groups", tag,
		"Group failed items that were not retried or discarded").
		about("Covers all bulk actions, the largest group first. items and groups count all of them."), s.dlqGroups)
	add(s, get(access.Read, "dlq.list", "/v1/dlq", tag, "List failed items that were not retried or discarded").
		about("The newest bulk action comes first. A page may have fewer entries than limit, or none, even if has_more is "+
			"true."), s.dlqList)
	add(s, get(access.Read, "dlq.results", "/v1/dlq/results", tag, "Download failed items that were not retried or discarded").
		about(aboutExports).responds(exportResponses()), s.dlqResults)
	add(s, post(access.Control, "dlq.retry", "/v1/dlq/retry", tag,
		"Retry failed items of several bulk actions").creates().
		about("Creates new bulk actions, linked by retry_of. Items of bulk actions that still run are not retried; they are "+
			"counted as skipped."), s.dlqRetry)
	add(s, post(access.Control, "dlq.discard", "/v1/dlq/discard", tag, "Discard failed items").
		about("Discarded items stay in the reports of their bulk actions, but are no longer listed here."), s.dlqDiscard)
}

// Failures says which failed items are meant; exported for huma.
type Failures struct {
	BulkAction string    `query:"bulk_action" maxLength:"64"`
	Tenant     string    `query:"tenant" maxLength:"128"`
	Action     string    `query:"action" maxLength:"128"`
	Step       string    `query:"step" maxLength:"128"`
	Code       string    `query:"code" maxLength:"128"`
	Message    string    `query:"message" maxLength:"1024" doc:"Message of the error group"`
	Since      time.Time `query:"since" doc:"Only bulk actions submitted since this time"`
}

func (f *Failures) filter() api.DLQFilter {
	return api.DLQFilter{BulkAction: f.BulkAction, Tenant: f.Tenant, Action: f.Action, Step: f.Step, Code: f.Code,
		Message: f.Message, Since: f.Since}
}

func (f *Failures) words() []string {
	return []string{"dlq", f.BulkAction, f.Tenant, f.Action, f.Step, f.Code, f.Message, f.Since.Format(time.RFC3339Nano)}
}

func dlqOf(ctx context.Context, f api.DLQFilter) result.DLQ {
	return result.DLQ{Sees: caller(ctx).Sees, Filter: f}
}

type dlqGroupsInput struct {
	Failures
	Limit int `query:"limit" minimum:"0" maximum:"10000" default:"100" doc:"Maximum groups; 0 only counts them"`
}

func (s *Server) dlqGroups(ctx context.Context, in *dlqGroupsInput) (*body[api.DLQGroups], error) {
	out, err := s.svc.Results.DLQGroups(ctx, dlqOf(ctx, in.filter()), in.Limit)
	out.Data = orEmpty(out.Data)
	return answer(out, err)
}

type dlqListInput struct {
	Failures
	Paging
}

func (s *Server) dlqList(ctx context.Context, in *dlqListInput) (*body[api.Page[api.ItemResult]], error) {
	from, err := openCursor(in.Cursor, in.words()...)
	if err != nil {
		return nil, err
	}
	list, next, err := s.svc.Results.DLQItems(ctx, dlqOf(ctx, in.filter()), from, in.Limit)
	return answer(pageWith(list, next, in.words()...), err)
}

type dlqResultsInput struct {
	Failures
	Exporting
}

func (s *Server) dlqResults(ctx context.Context, in *dlqResultsInput) (*huma.StreamResponse, error) {
	x, err := s.svc.Results.DLQExport(ctx, dlqOf(ctx, in.filter()), in.After)
	if err != nil {
		return nil, err
	}
	return s.export(ctx, x, in.Exporting)
}

// tenantOf is whose failed items are meant, for the audit; empty: those of several.
func tenantOf(ctx context.Context, f api.DLQFilter) string {
	if who := caller(ctx); f.Tenant == "" && len(who.Tenants) == 1 {
		return who.Tenants[0]
	}
	return f.Tenant
}

// wantChoice refuses an empty filter, which means every failed item, unless all were asked for.
func wantChoice(f api.DLQFilter, all bool) error {
	if all || f != (api.DLQFilter{}) {
		return nil
	}
	return &weir.FieldError{Code: "missing_field", Field: "filter", Problem: "is empty, which means every failed item",
		Fix: "say which items are meant, or set all to true"}
}

func (s *Server) dlqRetry(ctx context.Context, in *request[api.DLQRetry]) (*made[api.Linked], error) {
	if err := wantChoice(in.Body.Filter, in.Body.All); err != nil {
		return nil, err
	}
	changed(ctx, "dlq", tenantOf(ctx, in.Body.Filter))
	visitOf(ctx).before = in.Body.Filter
	out, err := s.svc.Results.DLQRetry(ctx, dlqOf(ctx, in.Body.Filter), in.Body, visitOf(ctx).idempotent)
	return s.newLinked(ctx, out, err)
}

func (s *Server) dlqDiscard(ctx context.Context, in *request[api.DLQDiscard]) (*body[api.Discarded], error) {
	if err := wantChoice(in.Body.Filter, in.Body.All); err != nil {
		return nil, err
	}
	changed(ctx, "dlq", tenantOf(ctx, in.Body.Filter))
	out, err := s.svc.Results.DLQDiscard(ctx, dlqOf(ctx, in.Body.Filter), in.Body.Reason, visitOf(ctx).idempotent)
	visitOf(ctx).before, visitOf(ctx).after = in.Body.Filter, out
	return answer(out, err)
}
