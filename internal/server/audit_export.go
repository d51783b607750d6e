package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
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
	kind := map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}[in.Format]
	return s.downloadAs(kind, "weir-audit."+in.Format, func(ctx context.Context, to io.Writer) error {
		out := newAuditWriter(in.Format, to)
		for {
			err := out.write(page)
			if err != nil || next == "" {
				return err
			}
			if page, next, err = s.of.List(ctx, caller(ctx), in.filter(), next, exportPage); err != nil {
				return err
			}
		}
	}), nil
}

// auditWriter writes entries in the form of a file.
type auditWriter struct {
	rows *csv.Writer // nil: NDJSON
	raw  io.Writer
}

func newAuditWriter(format string, to io.Writer) *auditWriter {
	w := &auditWriter{raw: to}
	if format != "csv" {
		return w
	}
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
