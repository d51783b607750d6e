package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

// beforeRoutes adds the routes for use before a bulk action starts.
func (s *Server) beforeRoutes() {
	tag := []string{"before the start"}
	add(s, endpoint{huma.Operation{
		OperationID: "bulk_action.preview", Method: http.MethodGet, Path: bulkPath + "/{id}/preview",
		Summary: "Show the first items and the input of the first step", Tags: tag,
		Description: "If the items come from a source, its first page is read and not stored.",
	}, route{scope: access.Read}}, s.preview)
	add(s, endpoint{huma.Operation{
		OperationID: "bulk_action.forecast", Method: http.MethodPost, Path: bulkPath + "/{id}/forecast",
		Summary: "Forecast when a bulk action would finish", Tags: tag,
		Description: "Runs the scheduler in virtual time with the current load. Changes nothing.",
	}, route{scope: access.Read}}, s.forecast)
	add(s, endpoint{huma.Operation{
		OperationID: "bulk_action.trial", Method: http.MethodPost, Path: bulkPath + "/{id}/trial",
		Summary: "Send a few items through the steps and show requests and responses", Tags: tag,
		Description: "Calls are marked as a dry run, unless dry_run is false.",
	}, route{scope: access.Submit, change: true, keyed: true}}, s.trial)
}

type trialInput struct {
	BulkID
	Body *api.Trial
}

func (s *Server) trial(ctx context.Context, in *trialInput) (*body[api.TrialResult], error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	var want api.Trial
	if in.Body != nil {
		want = *in.Body
	}
	return answer(s.svc.Bulks.TrialBulk(ctx, in.ID, want))
}

type previewInput struct {
	BulkID
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of items"`
}

func (s *Server) preview(ctx context.Context, in *previewInput) (*body[api.Preview], error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	return answer(s.svc.Bulks.Preview(ctx, in.ID, in.Limit))
}

type forecastInput struct {
	BulkID
	Body *api.ForecastRequest
}

func (s *Server) forecast(ctx context.Context, in *forecastInput) (*body[api.Forecast], error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	var req api.ForecastRequest
	if in.Body != nil {
		req = *in.Body
	}
	return answer(s.svc.Outlook.Forecast(ctx, in.ID, req))
}
