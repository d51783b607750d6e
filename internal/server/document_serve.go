package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// written is the OpenAPI document in one format, made at its first request.
type written struct {
	plain, packed []byte
	tag           string
}

func writeDocument(doc *huma.OpenAPI, format func(*huma.OpenAPI) ([]byte, error)) (*written, error) {
	plain, err := format(doc)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(plain)                                      // to memory
	_ = w.Close()
	sum := sha256.Sum256(plain)
	return &written{plain, packed.Bytes(), hex.EncodeToString(sum[:12])}, nil
}

// documentRoutes serves the OpenAPI document, which is complete by now: 3.1, and 3.0 for generators that do not read
// it. Both have an entity tag, and come packed to clients that accept it.
func (s *Server) documentRoutes() {
	doc := openAnswers(s.api.OpenAPI())
	older := *doc
	older.Webhooks = nil // 3.0 has none
	for _, f := range []struct {
		path, kind string
		doc        *huma.OpenAPI
		format     func(*huma.OpenAPI) ([]byte, error)
	}{
		{"/openapi.json", "application/openapi+json", doc, func(d *huma.OpenAPI) ([]byte, error) { return json.Marshal(d) }},
		{"/openapi.yaml", "application/openapi+yaml", doc, (*huma.OpenAPI).YAML},
		{"/openapi-3.0.json", "application/openapi+json", &older, (*huma.OpenAPI).Downgrade},
		{"/openapi-3.0.yaml", "application/openapi+yaml", &older, (*huma.OpenAPI).DowngradeYAML},
	} {
		once := sync.OnceValues(func() (*written, error) { return writeDocument(f.doc, f.format) })
		s.mux.HandleFunc("GET "+f.path, func(w http.ResponseWriter, r *http.Request) {
			out, err := once()
			if err != nil {
				s.log.LogAttrs(r.Context(), slog.LevelError, "OpenAPI document not written", slog.Any("error", err))
				s.refuse(w, visitOf(r.Context()), newProblem("internal", "the document cannot be written", ""))
				return
			}
			w.Header().Set("Content-Type", f.kind)
			out.serve(w, r)
		})
	}
}

func (d *written) serve(w http.ResponseWriter, r *http.Request) {
	h, body, tag := w.Header(), d.plain, d.tag
	h.Set("Cache-Control", "no-cache") // it may be kept, and is asked for again
	h.Add("Vary", "Accept-Encoding")
	if takesGzip(r.Header) {
		body, tag = d.packed, d.tag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// takesGzip reports whether a client accepts a packed body.
func takesGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		return err != nil || q > 0
	}
	return false
}
