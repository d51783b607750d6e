package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) reportRoutes() {
	add(s, get(access.Read, "bulk_action.report", bulkPath+"/{id}/report", "reports",
		"Get the report of a bulk action").
		about("The report shows the current state; it is final when the bulk action has ended. If failed items were "+
			"retried, combined has the counts that include the retries, and files have the items as they ended after them."), ofBulk(s, s.getReport))
}

func (s *Server) getReport(ctx context.Context, in *BulkID) (*body[api.Report], error) {
	out, err := s.svc.Results.Report(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	of, err := s.svc.Bulks.Get(ctx, in.ID)
	uploaded := of.Source != nil && of.Source.Upload != ""
	out.Files = s.filesOf(in.ID, uploaded && out.BadLines > 0, uploaded && out.Duplicates > 0)
	return answer(out, err)
}
