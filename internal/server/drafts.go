package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/stored"
)

// draftRoutes adds the routes that show and change the description of a draft, and check its rows.
func (s *Server) draftRoutes() {
	tag := "before the start"
	add(s, get(access.Read, "bulk_action.draft", bulkPath+"/{id}/draft", tag, "Get the description of a draft").
		about("The secret of its callback is never shown. A draft from a template is described by the template, its parameters and "+
			"what a request may set besides."), ofBulk(s, s.getDraft))
	add(s, put(access.Submit, "bulk_action.describe", bulkPath+"/{id}/draft", tag, "Replace the description of a draft").
		about("Only while it has no items: read them from a source, such as an upload, to describe it until it starts. The tenant "+
			"cannot change. An omitted secret of the callback is kept as long as the URL does not change."), ofBulk(s, s.putDraft))
	add(s, get(access.Read, "bulk_action.check", bulkPath+"/{id}/check", tag, "Check the rows of a draft").
		about("Reads the upload or the source of a draft, tells how many rows can be used, and lists bad ones. Adds no items."), ofBulk(s, s.checkDraft))
}

func (s *Server) getDraft(ctx context.Context, in *BulkID) (*tagged[api.NewBulkAction], error) {
	return answerTagged(s.svc.Drafts.Description(ctx, in.ID))
}

type describeInput struct {
	BulkID
	Conditions
	Body api.NewBulkAction
}

func (s *Server) putDraft(ctx context.Context, in *describeInput) (*tagged[api.NewBulkAction], error) {
	before, _, err := s.svc.Drafts.Description(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.svc.Drafts.Describe(ctx, in.ID, stored.Of(&in.Body), caller(ctx).KeyID, in.match); err != nil {
		return nil, err
	}
	after, version, err := s.svc.Drafts.Description(ctx, in.ID)
	visitOf(ctx).before, visitOf(ctx).after = before, after
	return answerTagged(after, version, err)
}

type checkInput struct {
	BulkID
	Limit int `query:"limit" minimum:"0" maximum:"1000" default:"20" doc:"Maximum number of bad lines to list"`
}

func (s *Server) checkDraft(ctx context.Context, in *checkInput) (*body[api.DataCheck], error) {
	return answer(s.svc.Drafts.Check(ctx, in.ID, in.Limit))
}
