package dashboard

import (
	"context"
	"io"
	"net/http"
	"path"
)

// download is what a browser downloads.
type download io.ReadCloser

// download registers a file, by its path below the root. The file is called as the path ends.
func (d *Dashboard) download(at, kind string, open func(context.Context, *visit) (download, error)) {
	d.mux.HandleFunc("GET "+Root+at, func(w http.ResponseWriter, r *http.Request) {
		v, err := d.visit(r)
		var from download
		if err == nil {
			from, err = open(r.Context(), v)
		}
		if err != nil {
			d.fail(w, v, err)
			return
		}
		defer from.Close()
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Disposition", `attachment; filename="`+path.Base(at)+`"`)
		w.Header().Set("Cache-Control", "no-store")
		if _, err := io.Copy(w, from); err != nil {
			d.log.Debug("a download ended early", "path", at, "err", err)
			panic(http.ErrAbortHandler) // else the browser takes a part for the whole
		}
	})
}
