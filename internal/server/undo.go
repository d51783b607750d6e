package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) undoRoutes() {
	tag := bulkTag
	add(s, post(access.Control, "bulk_action.undo", bulkPath+"/{id}/undo", tag,
		"Undo the done steps of a bulk action").creates().
		about("Creates a bulk action, linked by undo_of, that calls the undo handlers of the actions, the last step first, "+
			"for all items with a done step: also "+
			"for items that failed later. It is refused if an action that ran has no undo. An undo handler gets, as the "+
			"document of each item, "+
			"`{\"data\": …, \"output\": …}`: the input and the output of the action."), s.undo)
	add(s, post(access.Submit, "bulk_action.clone", bulkPath+"/{id}/clone", tag,
		"Copy a bulk action to a new draft").creates().
		about("The draft has the same steps, and the rules that the bulk action was created with: later changes are not copied. It "+
			"has no items, unless they come from a source."), s.clone)
}

// reserveFrom makes the id of a bulk action that is made from one that the caller sees.
func (s *Server) reserveFrom(ctx context.Context, of string) (string, error) {
	b, err := s.mine(ctx, of)
	if err != nil {
		return "", err
	}
	return s.reserve(ctx, func() (string, error) { return s.svc.Drafts.NewID(ctx, b.Tenant) })
}

func (s *Server) undo(ctx context.Context, in *about[*api.Verb]) (*made[api.Linked], error) {
	id, err := s.reserveFrom(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := s.svc.Results.Undo(ctx, in.ID, id)
	return s.newLinked(ctx, out, err)
}

func (s *Server) clone(ctx context.Context, in *about[*api.Verb]) (*made[api.BulkAction], error) {
	id, err := s.reserveFrom(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := s.svc.Bulks.Clone(ctx, in.ID, id)
	if err != nil {
		return nil, err
	}
	visitOf(ctx).after = out.ID
	return &made[api.BulkAction]{s.at(bulkPath + "/" + out.ID), s.WithLinks(out)}, nil
}
