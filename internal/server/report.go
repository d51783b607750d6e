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
		OperationID: "bulk_action.report", Method: http.MethodGet, Path: bulkPath + "/{id}/report", Summary: "Summary of what became of it", Tags: []string{"reports"},
		Description: "As of now; it is final when the bulk action has ended. If failed items were tried again, combined has the counts with that taken into account.",
	}, route{scope: access.Read}}, s.getReport)
}

func (s *Server) getReport(ctx context.Context, in *BulkID) (*body[api.Report], error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	return answer(s.svc.Report(ctx, in.ID))
}
