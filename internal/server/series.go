package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) seriesRoutes() {
	add(s, get(access.Read, "series.get", "/v1/series", "fleet", "Get time series of rates, limits, workers and failures").
		about("Of the last hour in steps of 10 s, or of the last day in steps of 5 min; of all resources together, or of one. "+
			"Every column has one value per step, null where it is unknown: while no node ran, for example. The last step is "+
			"the newest that all nodes have had the time to write, which takes up to 5 s.").forAll(), s.getSeries)
	add(s, get(access.Read, "bulk_action.series", bulkPath+"/{id}/series", bulkTag, "Get the time series of a bulk action").
		about("From its start to its end, or to now, in at most 500 steps: of 10 s, doubled as often as necessary. The sums of "+
			"the counts are those of the bulk action. A bulk action that has not started has no points."), byID(s, s.svc.Series.Bulk))
}

type seriesInput struct {
	Span     string `query:"span" enum:"hour,day" default:"hour" doc:"hour: 360 steps of 10 s; day: 288 steps of 5 min"`
	Resource string `query:"resource" maxLength:"128" doc:"Only this resource; omit it for all together" example:"send-message"`
}

func (s *Server) getSeries(ctx context.Context, in *seriesInput) (*body[api.Series], error) {
	if in.Span == "day" {
		return answer(s.svc.Series.Day(ctx, in.Resource))
	}
	return answer(s.svc.Series.Hour(ctx, in.Resource))
}
