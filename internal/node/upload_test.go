package node_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/nodetest"
)

// tus makes a request of the upload protocol.
func tus(r *nodetest.Node, method, path string, offset int, body []byte, status int, header http.Header) http.Header {
	all := http.Header{"Tus-Resumable": {"1.0.0"}}
	if method == http.MethodPatch {
		all.Set("Content-Type", "application/offset+octet-stream")
		all.Set("Upload-Offset", strconv.Itoa(offset))
	}
	maps.Copy(all, header)
	return r.CallWith(method, path, string(body), all, status, nil)
}

func TestAnUploadInPiecesBecomesABulkAction(t *testing.T) {
	r := start(t)
	var file bytes.Buffer
	file.WriteString("user_id,amount\n")
	for i := range 12_000 {
		fmt.Fprintf(&file, "u%d,%d\n", i, i)
	}
	raw := file.Bytes()
	h := tus(r, "POST", "/v1/uploads", 0, nil, 201, http.Header{"Upload-Length": {strconv.Itoa(len(raw))}})
	at := h.Get("Location")
	at = at[len(r.URL):]
	half := len(raw) / 2
	tus(r, "PATCH", at, 0, raw[:half], 204, nil)
	if got := tus(r, "HEAD", at, 0, nil, 200, nil).Get("Upload-Offset"); got != strconv.Itoa(half) {
		t.Fatalf("offset = %s, want %d", got, half)
	}
	tus(r, "PATCH", at, 3, raw[3:half], 409, nil) // what is there already
	id := at[len("/v1/uploads/"):]
	spec := fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"upload":%q},"item_id":"user_id","start":true}`, id)
	var p api.Problem
	r.Call("POST", "/v1/bulk-actions", spec, 422, &p)
	if p.Code != "upload_incomplete" {
		t.Errorf("problem = %+v, want upload_incomplete", p)
	}
	tus(r, "PATCH", at, half, raw[half:], 204, nil)
	var b api.BulkAction
	r.Call("POST", "/v1/bulk-actions", spec, 201, &b)
	b = r.Until(b.ID, api.Completed)
	if b.Counts.Done != 12_000 {
		t.Errorf("counts %+v, want 12000 done", b.Counts)
	}
	tus(r, "DELETE", at, 0, nil, 204, nil)
	tus(r, "HEAD", at, 0, nil, 404, nil)
}
