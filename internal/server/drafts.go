package server

import (
	"context"
	"errors"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/draft"
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
	add(s, get(access.Read, "bulk_action.bad_rows", bulkPath+"/{id}/bad-rows", tag, "Download the bad rows of an upload").
		about("All rows that cannot be read, or that the first action does not accept, in the order of the file: `weir_line`, "+
			"`weir_problem`, `weir_fix`, and the cells of the row. Correct it and upload it "+
			"again: the three columns are not part of the items then. Cells that a spreadsheet would read as a formula begin with an "+
			"apostrophe, which is removed again. A row of JSON is one column: upload the corrected rows as NDJSON. After the start, the upload of a bulk action with bad rows is kept as long as "+
			"the bulk action.").responds(badRowsResponses()), ofBulk(s, s.badRows))
	add(s, get(access.Read, "bulk_action.repeated_rows", bulkPath+"/{id}/duplicates", tag, "Download the rows of an upload that repeat an id").
		about("The rows whose id an earlier row has, in the order of the file: `line`, `id`, and `first_line`, the line of the first row "+
			"with this id. Up to 5 million rows are read. With `duplicates` `keep_all` the list is empty. After the start, the upload of a bulk action that has left out rows is "+
			"kept as long as the bulk action.").responds(badRowsResponses()), ofBulk(s, s.repeatedRows))
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

// badRows sends the bad rows of an upload.
func (s *Server) badRows(ctx context.Context, in *BulkID) (*huma.StreamResponse, error) {
	return s.leftOut(ctx, in.ID, "bad-rows", (*draft.LeftOut).WriteBad)
}

// repeatedRows sends the rows of an upload that repeat an id.
func (s *Server) repeatedRows(ctx context.Context, in *BulkID) (*huma.StreamResponse, error) {
	return s.leftOut(ctx, in.ID, "duplicates", (*draft.LeftOut).WriteRepeated)
}

// leftOut sends a list of rows of an upload.
func (s *Server) leftOut(ctx context.Context, id, name string, write func(*draft.LeftOut, context.Context, io.Writer) error) (*huma.StreamResponse, error) {
	list, err := s.svc.Drafts.LeftOut(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.downloadAs("text/csv; charset="+list.Encoding(), id+"-"+name+".csv", func(ctx context.Context, to io.Writer) error {
		return errors.Join(write(list, ctx, to), list.Close())
	}), nil
}

type checkInput struct {
	BulkID
	Limit   int    `query:"limit" minimum:"0" maximum:"1000" default:"20" doc:"Maximum number of bad lines to list, and of duplicates"`
	Add     string `query:"add" maxLength:"64" doc:"Check the draft as if this upload were added to its uploads"`
	Replace string `query:"replace" maxLength:"64" doc:"Check the draft as if this upload were its data"`
}

func (s *Server) checkDraft(ctx context.Context, in *checkInput) (*body[api.DataCheck], error) {
	return answer(s.svc.Drafts.Check(ctx, in.ID, draft.Checking{Faults: in.Limit, Add: in.Add, Replace: in.Replace, By: caller(ctx).KeyID}))
}
