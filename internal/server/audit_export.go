package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/result"
)

// exportPage is the number of entries that an export reads at once.
const exportPage = 500

// exportAudit sends all entries that match. The first are read before anything is
// sent, so that a refusal is an answer of its own.
func (s audits) exportAudit(ctx context.Context, in *auditInput, after string) (*huma.StreamResponse, error) {
	page, next, err := s.of.List(ctx, caller(ctx), in.filter(), after, exportPage)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		h.SetHeader("Content-Disposition", `attachment; filename="weir-audit.`+in.Format+`"`)
		out := newAuditWriter(in.Format, h)
		for {
			err := out.write(page)
			if err == nil && next == "" {
				return
			}
			if err == nil {
				page, next, err = s.of.List(ctx, caller(ctx), in.filter(), next, exportPage)
			}
			if err != nil {
				s.cut(ctx, "export of the audit", err)
			}
		}
	}}, nil
}

// cut breaks off a response whose end cannot be sent: the client must not take it for complete.
func (s *Server) cut(ctx context.Context, what string, err error) {
	if !errors.Is(err, context.Canceled) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "answer cut off", slog.String("what", what), slog.Any("error", err),
			slog.String("request_id", requestID(ctx)))
	}
	panic(http.ErrAbortHandler)
}

// auditWriter writes entries in the form of a file.
type auditWriter struct {
	rows *csv.Writer // nil: NDJSON
	raw  io.Writer
}

func newAuditWriter(format string, h huma.Context) *auditWriter {
	w := &auditWriter{raw: h.BodyWriter()}
	if format != "csv" {
		h.SetHeader("Content-Type", "application/x-ndjson")
		return w
	}
	h.SetHeader("Content-Type", "text/csv; charset=utf-8")
	w.rows = csv.NewWriter(w.raw)
	_ = w.rows.Write([]string{"at", "actor", "key", "from", "action", "target", "tenant", "reason", "request_id", "before",
		"after", "id"}) // Flush tells
	return w
}

func (w *auditWriter) write(page []access.AuditEntry) error {
	for i := range page {
		e := viewAudit(&page[i])
		if w.rows == nil {
			if err := json.NewEncoder(w.raw).Encode(e); err != nil {
				return err
			}
			continue
		}
		_ = w.rows.Write(auditRow(&e)) // Flush tells
	}
	if w.rows == nil {
		return nil
	}
	w.rows.Flush()
	return w.rows.Error()
}

func auditRow(e *api.AuditEntry) []string {
	row := []string{
		e.At.Format(time.RFC3339Nano), e.Actor, e.Key, e.From, e.Action, e.Target, e.Tenant, e.Reason, e.RequestID,
		string(e.Before), string(e.After), e.ID,
	}
	return result.Guarded(row) // names and reasons are written by callers
}
