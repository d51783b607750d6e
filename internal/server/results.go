package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/result"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

const aboutExports = "The rows are streamed in the order of the input, each item once. The column or member `item` holds the id of " +
	"the item. A download that was cut " +
	"off ends without its last chunk, also one whose key was revoked or has expired, which is checked every second; continue it with `after` and the item of the last complete row: that response has no header. " +
	"CSV has a column for each member of the items' documents and outputs. Cells that a spreadsheet would read as a " +
	"formula begin with an apostrophe, unless raw is set. " +
	"NDJSON has the documents unchanged."

func (s *Server) resultRoutes() {
	add(s, get(access.Read, "bulk_action.results", bulkPath+"/{id}/results", "reports",
		"Download the results of items: of failed items, unless `state` selects others").
		about("An item that was retried has the state in which the newest retry left it; `retried_by` names that retry. "+aboutExports).
		responds(exportResponses()), ofBulk(s, s.results))
}

// exportResponses describes a download.
func exportResponses() map[string]*huma.Response {
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	return map[string]*huma.Response{"200": {
		Description: "The rows",
		Headers: map[string]*huma.Param{"Content-Disposition": {Description: "attachment, with a file name",
			Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{"text/csv": text, "application/x-ndjson": text},
	}}
}

// badRowsResponses describes a download of bad rows.
func badRowsResponses() map[string]*huma.Response {
	all := exportResponses()
	delete(all["200"].Content, "application/x-ndjson")
	return all
}

// Exporting holds the parameters of a download; exported for huma.
type Exporting struct {
	Format string `query:"format" enum:"csv,ndjson" default:"csv"`
	Raw    bool   `query:"raw" doc:"CSV for programs: do not escape cells"`
	// Spreadsheets in countries with a decimal comma expect semicolons.
	Delimiter string `query:"delimiter" enum:"comma,semicolon,tab,pipe,input" default:"comma" doc:"What separates the cells of CSV. input: what the uploaded file of the items has, and a byte order mark if it has one or is not in UTF-8; a comma for items from elsewhere"`
	BOM       bool   `query:"bom" doc:"Begin CSV with a byte order mark, by which spreadsheets recognise UTF-8"`
	After     string `query:"after" maxLength:"128" doc:"Continue after this item, the item of the last row that you have" example:"itm_01k9x2v6w4s8m1c7q3d5f9h0jz-41"`
}

// writing says how an export is written, whose items came from a file with a layout; nil: from elsewhere.
func (e *Exporting) writing(layout *stored.Layout) result.Writing {
	w := result.Writing{Format: report.Format(e.Format), Raw: e.Raw, BOM: e.BOM,
		Delimiter: map[string]rune{"semicolon": ';', "tab": '\t', "pipe": '|'}[e.Delimiter]}
	if layout != nil && e.Delimiter == "input" {
		w.Delimiter, _ = utf8.DecodeRuneInString(layout.Delimiter)
		w.BOM = w.BOM || layout.BOM
	}
	return w
}

type resultsInput struct {
	BulkID
	Exporting
	State string `query:"state" enum:"failed,done,cancelled,all" default:"failed" doc:"Which items; default: only failed items"`
}

func (s *Server) results(ctx context.Context, in *resultsInput) (*huma.StreamResponse, error) {
	f := result.ItemFilter{State: report.State(in.State)}
	if in.State == "all" {
		f.State = ""
	}
	x, err := s.svc.Results.Results(ctx, in.ID, f, in.After)
	if err != nil {
		return nil, err
	}
	return s.export(ctx, x, in.Exporting)
}

// export sends rows. What can go wrong before the first byte is a problem; after
// it the connection is cut, so that a client does not take a part for the whole.
func (s *Server) export(ctx context.Context, x result.Export, how Exporting) (*huma.StreamResponse, error) {
	w, err := result.NewRowWriter(ctx, x, how.writing(x.Layout))
	if err != nil {
		return nil, err
	}
	return s.download(x.Name+"."+how.Format, func(ctx context.Context, to io.Writer) error { return w.WriteTo(ctx, to, how.After) }), nil
}

// download sends a file, whose extension says what it is.
func (s *Server) download(name string, write func(context.Context, io.Writer) error) *huma.StreamResponse {
	return s.downloadAs(map[string]string{".csv": "text/csv; charset=utf-8", ".ndjson": "application/x-ndjson"}[path.Ext(name)], name, write)
}

// downloadAs is download with the type of the content.
func (s *Server) downloadAs(kind, name string, write func(context.Context, io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, to := humago.Unwrap(c)
		to.Header().Set("Content-Type", kind)
		to.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		to.Header().Set("Cache-Control", "no-store")
		out := newPatient(to, s.opts.SlowBody)
		defer out.end()
		ctx, cancel := s.untilDrained(r.Context())
		defer cancel()
		go func() {
			if p := s.stillAllowed(ctx, r, visitOf(ctx).tenant); p != nil {
				out.cut(p)
				cancel()
			}
		}()
		err := write(ctx, out)
		if err == nil {
			err = out.flush()
		}
		if err != nil {
			if r.Context().Err() == nil {
				s.log.LogAttrs(ctx, slog.LevelWarn, "download cut off", slog.String("request_id", requestID(ctx)), slog.Any("error", err))
			}
			panic(http.ErrAbortHandler) // the reader sees that it is not the whole
		}
	}}
}

// untilDrained ends when the server stops: what is long can be asked for again.
func (s *Server) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
