//go:build unix

package serverkill

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// tus makes a request of the upload protocol.
func tus(method, path string, header map[string]string) request {
	all := map[string]string{"Tus-Resumable": "1.0.0"}
	for k, v := range header {
		all[k] = v
	}
	return request{method: method, path: path, header: all}
}

// upload sends a file in pieces, and goes on after each cut where the server says that it ends.
func (t *teller) upload(ctx context.Context) error {
	t.items = t.fresh(200 + t.random.IntN(1500))
	_, file := body(t.items, t.chance(50))
	r, err := t.ask(ctx, tus(http.MethodPost, "/v1/uploads", map[string]string{"Upload-Length": strconv.Itoa(len(file))}))
	if err != nil {
		return err
	}
	at, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.status != http.StatusCreated {
		return fmt.Errorf("upload: status %d: %s %w", r.status, r.body, err)
	}
	for sent := 0; sent < len(file); {
		if sent, err = t.piece(ctx, at.Path, file, sent); err != nil {
			return err
		}
	}
	n := t.spec()
	n.Start, n.Source = true, &api.Source{Upload: strings.TrimPrefix(at.Path, "/v1/uploads/")}
	return t.create(ctx, n)
}

// piece sends the next piece, and returns how much the server has.
func (t *teller) piece(ctx context.Context, path, file string, from int) (int, error) {
	to := min(len(file), from+1+t.random.IntN(len(file)/2))
	q := tus(http.MethodPatch, path, map[string]string{"Upload-Offset": strconv.Itoa(from)})
	q.kind = "application/offset+octet-stream"
	if r, err := t.once(ctx, q, strings.NewReader(file[from:to])); err == nil && r.status == http.StatusNoContent {
		if got := r.header.Get("Upload-Offset"); got != strconv.Itoa(to) {
			return 0, fmt.Errorf("upload: %s bytes acknowledged, want %d", got, to)
		}
		return to, nil
	}
	r, err := t.ask(ctx, tus(http.MethodHead, path, nil))
	if err != nil {
		return 0, err
	}
	has, err := strconv.Atoi(r.header.Get("Upload-Offset"))
	if err != nil || has < from || has > to {
		return 0, fmt.Errorf("upload: %d to %d were sent, and it has %q: %w", from, to, r.header.Get("Upload-Offset"), err)
	}
	<-time.After(10 * time.Millisecond) // it may be down
	return has, nil
}
