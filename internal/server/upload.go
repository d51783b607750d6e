package server

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/weirhq/weir/internal/service/access"
	xslog "golang.org/x/exp/slog" // tusd still takes this one
)

const uploadPath = "/v1/uploads"

// uploadTag is the group of its routes.
const uploadTag = "uploads"

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
		status                    int
		sends, answers            []string // headers
	}{
		{http.MethodPost, uploadPath, "upload.create", "Create a resumable upload (tus 1.0)", tus.PostFile, true,
			http.StatusCreated, []string{"Upload-Length", "Upload-Defer-Length", "Upload-Metadata"}, []string{"Location"}},
		{http.MethodHead, uploadPath + "/{id}", "upload.offset", "Get the number of bytes received of an upload", tus.HeadFile, false,
			http.StatusOK, nil, []string{"Upload-Offset", "Upload-Length"}},
		{http.MethodPatch, uploadPath + "/{id}", "upload.write", "Send the next part of an upload", tus.PatchFile, true,
			http.StatusNoContent, []string{"Upload-Offset", "Upload-Length"}, []string{"Upload-Offset"}},
		{http.MethodDelete, uploadPath + "/{id}", "upload.delete", "Delete an upload", tus.DelFile, true,
			http.StatusNoContent, nil, nil},
	} {
		s.routes[r.method+" "+r.path] = &route{id: r.id, method: r.method, path: r.path, scope: access.Submit,
			change: r.change, stream: true}
		s.mux.Handle(r.method+" "+r.path, http.StripPrefix(uploadPath, tus.Middleware(r.do)))
		s.describe(&huma.Operation{OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary}, r.status, r.sends, r.answers)
	}
	return nil
}

// uploadHeaders describes the headers of requests.
var uploadHeaders = map[string]string{
	"Tus-Resumable":       "Version of the protocol: 1.0.0",
	"Upload-Defer-Length": "1 if the length is told later",
	"Upload-Length":       "Bytes of the whole upload",
	"Upload-Metadata":     "Names and values in base64: filename",
	"Upload-Offset":       "Bytes received so far, where this part begins",
}

// describe puts a route into the OpenAPI document that huma does not serve.
func (s *Server) describe(op *huma.Operation, status int, sends, answers []string) {
	op.Tags = []string{uploadTag}
	op.Description = "Follows the protocol tus 1.0 (https://tus.io/protocols/resumable-upload).\n\nNeeds the scope `submit`."
	op.Security = []map[string][]string{{bearerScheme: {}}}
	out := &huma.Response{Description: http.StatusText(status)}
	for _, h := range append(answers, "Tus-Resumable") {
		refer(out, h)
	}
	problem := &huma.MediaType{Schema: s.schemaOf(reflect.TypeFor[problem]())}
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	op.Responses = map[string]*huma.Response{strconv.Itoa(status): out, "default": {
		Description: "An error, as text where the protocol defines it", Content: map[string]*huma.MediaType{"application/problem+json": problem, "text/plain": text},
	}}
	if op.Path != uploadPath {
		op.Parameters = []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	for _, h := range append([]string{"Tus-Resumable"}, sends...) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: h, In: "header", Required: h == "Tus-Resumable" || op.Method == http.MethodPatch && h == "Upload-Offset",
			Description: uploadHeaders[h], Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if op.Method == http.MethodPatch {
		// huma would say of format binary in 3.0 what only 3.1 has
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/offset+octet-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	s.api.OpenAPI().AddOperation(op)
}
