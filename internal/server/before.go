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
		about("Runs the scheduler in virtual time with the current load. Changes nothing."), ofBulk(s, s.forecast))
	add(s, post(access.Submit, "bulk_action.trial", bulkPath+"/{id}/trial", tag,
		"Send a few items through the steps and show requests and responses").
		about("Calls are marked as a dry run, unless dry_run is false."), ofBulk(s, s.trial))
}

type trialInput struct {
	BulkID
	Body *api.Trial
}

func (s *Server) trial(ctx context.Context, in *trialInput) (*body[api.TrialResult], error) {
	want := orZero(in.Body)
	return answer(s.svc.Bulks.TrialBulk(ctx, in.ID, want))
}

type previewInput struct {
	BulkID
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of items"`
}

func (s *Server) preview(ctx context.Context, in *previewInput) (*body[api.Preview], error) {
	return answer(s.svc.Bulks.Preview(ctx, in.ID, in.Limit))
}

type forecastInput struct {
	BulkID
	Body *api.ForecastRequest
}

func (s *Server) forecast(ctx context.Context, in *forecastInput) (*body[api.Forecast], error) {
	req := orZero(in.Body)
	return answer(s.svc.Outlook.Forecast(ctx, in.ID, req))
}
