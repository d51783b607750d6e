package dashboard

import (
	"context"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
)

// file is something to download.
type file struct {
	Name string
	Body io.ReadCloser
}

// download registers a file that a browser saves, by its path below the root.
func (d *Dashboard) download(at string, open func(context.Context, *visit) (file, error)) {
	d.mux.HandleFunc("GET "+Root+at, func(w http.ResponseWriter, r *http.Request) {
		v, err := d.visit(r)
		var f file
		ctx := r.Context()
		if err == nil {
			var end context.CancelFunc
			ctx, end = d.whileAllowed(ctx, v)
			defer end()
			f, err = open(ctx, v)
		}
		if err != nil {
			d.fail(w, v, err)
			return
		}
		defer f.Body.Close()
		kind := mime.TypeByExtension(path.Ext(f.Name))
		if kind == "" || strings.HasPrefix(kind, "text/html") {
			kind = "application/octet-stream"
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
		w.Header().Set("Cache-Control", "no-store")
		stop := cutWith(ctx, w)
		if _, err := io.Copy(w, f.Body); err != nil || !stop() {
			panic(http.ErrAbortHandler) // the browser must not take a part for the whole
		}
	})
}
