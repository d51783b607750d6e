package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) retryRoutes() {
	add(s, post(access.Control, "bulk_action.retry", bulkPath+"/{id}/retry", bulkTag,
		"Retry failed or cancelled items").creates().
		about("Creates new bulk actions from the failed items or, with state cancelled, from the items that the deadline, a "+
			"user or a rule cancelled. They are linked by retry_of. There is one for each step at which items ended, and it "+
			"begins at that step. Their name is that of the bulk action with the number of the retry, unless `name` gives another. "+
			"Items that were already retried or discarded are not retried: retry items that failed again in the bulk action in "+
			"which they failed. The bulk action must have ended or be stopped."), ofBulk(s, s.retry))
}

func (s *Server) retry(ctx context.Context, in *about[*api.Again]) (*made[api.Linked], error) {
	want := orZero(in.Body)
	out, err := s.svc.Results.Retry(ctx, in.ID, want, visitOf(ctx).idempotent)
	return s.newLinked(ctx, out, err)
}

// newLinked answers with bulk actions that were made, and where the first of them is.
func (s *Server) newLinked(ctx context.Context, l api.Linked, err error) (*made[api.Linked], error) {
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range s.linkAll(l.BulkActions) {
		ids = append(ids, l.BulkActions[i].ID)
	}
	visitOf(ctx).after = ids
	out := &made[api.Linked]{Body: l}
	if len(ids) > 0 {
		out.Location = s.at(bulkPath + "/" + ids[0])
	}
	return out, nil
}
