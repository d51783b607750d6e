package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/weirhq/weir/api"
)

// tus makes a request of the upload protocol.
func (r *running) tus(method, path string, offset int64, body []byte, status int, header map[string]string) http.Header {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Tus-Resumable", "1.0.0")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/offset+octet-stream")
		req.Header.Set("Upload-Offset", strconv.FormatInt(offset, 10))
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, raw)
	}
	return resp.Header
}

func TestAnUploadInPiecesBecomesABulkAction(t *testing.T) {
	r := start(t)
	var file bytes.Buffer
	file.WriteString("user_id,amount\n")
	for i := range 12_000 {
		fmt.Fprintf(&file, "u%d,%d\n", i, i)
	}
	raw := file.Bytes()
	h := r.tus("POST", "/v1/uploads", 0, nil, 201, map[string]string{"Upload-Length": strconv.Itoa(len(raw))})
	at := h.Get("Location")
	at = at[len(r.url):]
	half := len(raw) / 2
	r.tus("PATCH", at, 0, raw[:half], 204, nil)
	if got := r.tus("HEAD", at, 0, nil, 200, nil).Get("Upload-Offset"); got != strconv.Itoa(half) {
		t.Fatalf("offset = %s, want %d", got, half)
	}
	r.tus("PATCH", at, 3, raw[3:half], 409, nil) // what is there already
	id := at[len("/v1/uploads/"):]
	spec := fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"upload":%q},"item_id":"user_id","start":true}`, id)
	var p api.Problem
	r.call("POST", "/v1/bulk-actions", "application/json", spec, 422, &p)
	if p.Code != "upload_incomplete" {
		t.Errorf("problem = %+v, want upload_incomplete", p)
	}
	r.tus("PATCH", at, int64(half), raw[half:], 204, nil)
	var b api.BulkAction
	r.call("POST", "/v1/bulk-actions", "application/json", spec, 201, &b)
	b = r.until(b.ID, api.Completed)
	if b.Counts.Done != 12_000 {
		c, _ := json.Marshal(b.Counts)
		t.Errorf("counts %s, want 12000 done", c)
	}
	r.tus("DELETE", at, 0, nil, 204, nil)
	r.tus("HEAD", at, 0, nil, 404, nil)
}
