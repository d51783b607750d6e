package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) reportRoutes() {
	add(s, endpoint{huma.Operation{
		OperationID: "bulk_action.report", Method: http.MethodGet, Path: bulkPath + "/{id}/report",
		Summary: "Get the report of a bulk action", Tags: []string{"reports"},
		Description: "The report shows the current state; it is final when the bulk action has ended. If failed items were retried, combined has the counts that include the retries.",
	}, route{scope: access.Read}}, s.getReport)
}

func (s *Server) getReport(ctx context.Context, in *BulkID) (*body[api.Report], error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	out, err := s.svc.Results.Report(ctx, in.ID)
	out.Files = filesOf(in.ID)
	return answer(out, err)
}
