package server

import (
	"context"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/internal/engine/backup"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) backupRoutes() {
	add(s, get(access.Admin, "backup.get", "/v1/backup", "fleet", "Download a backup of the store").
		about("The file has everything that was accepted before the request, as of one moment; work goes on meanwhile. "+
			"weir restore writes it to an empty store. Secrets in it stay encrypted with the key of the vault, which is not in "+
			"the file. A response that ends early is not a backup. Only for the embedded store.").
		responds(map[string]*huma.Response{"200": {Description: "The backup", Content: map[string]*huma.MediaType{
			"application/octet-stream": {}, // bytes have no schema
		}}}).forAll(), s.backup)
}

func (s *Server) backup(context.Context, *struct{}) (*huma.StreamResponse, error) {
	if s.opts.Backup == nil {
		return nil, newProblem("no_backup", "several nodes share the store of this server, so it cannot be copied while they run",
			"stop all nodes and run weir backup with their configuration, or use the backups of Redis")
	}
	name := "weir-" + time.Now().UTC().Format("20060102-150405") + ".backup"
	return s.downloadAs("application/octet-stream", name, func(ctx context.Context, to io.Writer) error {
		_, err := backup.Write(ctx, s.opts.Backup, to, s.opts.Version)
		return err
	}), nil
}
