package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

// beforeRoutes adds the routes for use before a bulk action starts.
func (s *Server) beforeRoutes() {
	tag := "before the start"
	add(s, get(access.Read, "bulk_action.preview", bulkPath+"/{id}/preview", tag,
		"Show the first items and the input of the first step").
		about("If the items come from a source, its first page is read and not stored."), ofBulk(s, s.preview))
	add(s, ask(access.Read, "bulk_action.forecast", bulkPath+"/{id}/forecast", tag,
		"Forecast when a bulk action would finish").
		about("Runs the scheduler in virtual time with the current load. Changes nothing."), withBody(s, s.svc.Outlook.Forecast))
	add(s, post(access.Submit, "bulk_action.trial", bulkPath+"/{id}/trial", tag,
		"Send a few items through the steps and show requests and responses").
		about("Calls are marked as a dry run, unless dry_run is false."), withBody(s, s.svc.Bulks.TrialBulk))
}

type previewInput struct {
	BulkID
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of items"`
}

func (s *Server) preview(ctx context.Context, in *previewInput) (*body[api.Preview], error) {
	return answer(s.svc.Bulks.Preview(ctx, in.ID, in.Limit))
}
