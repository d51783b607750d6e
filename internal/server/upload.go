package server

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/weirhq/weir/internal/service/access"
	xslog "golang.org/x/exp/slog" // tusd still takes this one
)

const uploadPath = "/v1/uploads"

// uploadRoutes are those of the tus protocol, which package tusd speaks.
func (s *Server) uploadRoutes() error {
	uploads := s.svc.Drafts.Uploads(func(ctx context.Context) (tenant, key string) {
		who := caller(ctx)
		if len(who.Tenants) == 1 {
			tenant = who.Tenants[0]
		}
		return tenant, who.KeyID
	})
	composer := handler.NewStoreComposer()
	composer.UseCore(uploads)
	composer.UseTerminater(uploads)
	composer.UseLengthDeferrer(uploads)
	tus, err := handler.NewUnroutedHandler(handler.Config{
		StoreComposer: composer, BasePath: s.at(uploadPath) + "/", MaxSize: s.opts.MaxUpload, DisableDownload: true, DisableConcatenation: true,
		NetworkTimeout: s.opts.SlowBody, GracefulRequestCompletionTimeout: time.Second,
		Cors: &handler.CorsConfig{Disable: true}, Logger: xslog.New(xslog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	for _, r := range []struct {
		method, path, id, summary string
		do                        http.HandlerFunc
		change                    bool
	}{
		{http.MethodPost, uploadPath, "upload.create", "Create a resumable upload (tus 1.0)", tus.PostFile, true},
		{http.MethodHead, uploadPath + "/{id}", "upload.offset", "Get the number of bytes received of an upload", tus.HeadFile, false},
		{http.MethodPatch, uploadPath + "/{id}", "upload.write", "Send the next part of an upload", tus.PatchFile, true},
		{http.MethodDelete, uploadPath + "/{id}", "upload.delete", "Delete an upload", tus.DelFile, true},
	} {
		s.routes[r.method+" "+r.path] = &route{id: r.id, method: r.method, path: r.path, scope: access.Submit,
			change: r.change, stream: true}
		s.mux.Handle(r.method+" "+r.path, http.StripPrefix(uploadPath, tus.Middleware(r.do)))
		s.describe(r.method, r.path, r.id, r.summary)
	}
	return nil
}

// describe puts a route into the OpenAPI document that huma does not serve.
func (s *Server) describe(method, path, id, summary string) {
	op := &huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"uploads"},
		Description: "Follows the protocol tus 1.0 (https://tus.io/protocols/resumable-upload).\n\nNeeds the scope `submit`.",
		Security:    []map[string][]string{{"key": {}}},
		Responses:   map[string]*huma.Response{"default": {Description: "As defined by the protocol"}},
	}
	if path != uploadPath {
		op.Parameters = []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	if method == http.MethodPatch {
		// huma would say of format binary in 3.0 what only 3.1 has
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/offset+octet-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	s.api.OpenAPI().AddOperation(op)
}
