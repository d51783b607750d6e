package assembly_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
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
	untilGone(t, r, at)
}

// sent uploads a file in one piece, and returns its path and its id.
func sent(r *nodetest.Node, raw string) (at, id string) {
	h := tus(r, "POST", "/v1/uploads", 0, nil, 201, http.Header{"Upload-Length": {strconv.Itoa(len(raw))}})
	at = h.Get("Location")[len(r.URL):]
	tus(r, "PATCH", at, 0, []byte(raw), 204, nil)
	return at, at[len("/v1/uploads/"):]
}

// untilGone waits until an upload is not found.
func untilGone(t *testing.T, r *nodetest.Node, at string) {
	t.Helper()
	r.Eventually("the upload is gone", func() bool {
		resp := r.Request(t.Context(), "HEAD", at, "", http.Header{"Tus-Resumable": {"1.0.0"}})
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusNotFound
	})
}

const fewRows = "id,amount\na,1\nb,2\n"

func ofUpload(tenant, id, more string) string {
	return fmt.Sprintf(`{"tenant":%q,"steps":[{"action":"award"}],"source":{"upload":%q}%s}`, tenant, id, more)
}

func TestAKeyUploadsForEachOfItsTenants(t *testing.T) {
	open := start(t)
	several := open.As([]access.Scope{access.Submit, access.Read}, "acme", "growth")
	all := open.As([]access.Scope{access.Submit, access.Read})
	one := open.As([]access.Scope{access.Submit, access.Read}, "growth")
	for name, r := range map[string]*nodetest.Node{"no key": open, "several tenants": several, "all tenants": all, "one tenant": one} {
		t.Run(name, func(t *testing.T) {
			at, id := sent(r, fewRows)
			for other, theirs := range map[string]*nodetest.Node{"several": several, "all": all, "one": one} {
				if theirs == r || r == one { // what a tenant has uploaded is for every key of the tenant
					continue
				}
				var p api.Problem
				theirs.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, ""), 422, &p)
				if len(p.Errors) != 1 || p.Errors[0].Code != "unknown_upload" {
					t.Errorf("another key, of %s, gets %+v, want unknown_upload", other, p)
				}
				tus(theirs, "HEAD", at, 0, nil, 404, nil)
			}
			tus(r, "HEAD", at, 0, nil, 200, nil)
			var b api.BulkAction
			r.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, `,"start":true`), 201, &b)
			if b = r.Until(b.ID, api.Completed); b.Tenant != "growth" || b.Counts.Done != 2 {
				t.Errorf("%d items of tenant %s are done, want 2 of growth", b.Counts.Done, b.Tenant)
			}
			untilGone(t, r, at)
			_, id = sent(r, fewRows)
			r.Call("POST", "/v1/bulk-actions", `{"tenant":"growth","steps":[{"action":"award"}]}`, 201, &b)
			r.Call("POST", "/v1/bulk-actions/"+b.ID+"/import", fmt.Sprintf(`{"upload":%q}`, id), 200, nil)
			r.Until(b.ID, api.Sealed)
		})
	}
}

func TestAnUploadIsKeptUntilItsLastUse(t *testing.T) {
	r := start(t)
	at, id := sent(r, fewRows)
	var first, second, thrown, failed, clone api.BulkAction
	r.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, ""), 201, &second)
	r.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, ""), 201, &thrown)
	r.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, `,"start":true`), 201, &first)
	r.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, `,"start":true,"item_id":"missing"`), 201, &failed)
	r.Until(first.ID, api.Completed)
	r.Until(failed.ID, api.Failed)
	r.Call("DELETE", "/v1/bulk-actions/"+thrown.ID, "", 204, nil)
	tus(r, "HEAD", at, 0, nil, 200, nil)
	r.Call("POST", "/v1/bulk-actions/"+second.ID+"/start", "", 200, nil)
	r.Until(second.ID, api.Completed)
	tus(r, "HEAD", at, 0, nil, 200, nil) // the failed one can be tried again with other rules
	r.Call("DELETE", "/v1/bulk-actions/"+failed.ID, "", 204, nil)
	untilGone(t, r, at)
	r.Call("POST", "/v1/bulk-actions", ofUpload("growth", id, ""), 422, nil)
	r.Call("POST", "/v1/bulk-actions/"+second.ID+"/clone", "", 201, &clone)
	if clone.Source != nil {
		t.Errorf("the clone has the source %+v, which cannot be read again", clone.Source)
	}
}

func TestWhatIsMadeAgainAndAgainHasNoUpload(t *testing.T) {
	r := start(t)
	_, id := sent(r, fewRows)
	bulk := fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"upload":%q}}`, id)
	for path, body := range map[string]string{
		"POST /v1/schedules":        `{"name":"nightly","cron":"0 3 * * *","bulk_action":` + bulk + `}`,
		"PUT /v1/templates/nightly": `{"bulk_action":` + bulk + `}`,
	} {
		var p api.Problem
		method, at, _ := strings.Cut(path, " ")
		r.Call(method, at, body, 422, &p)
		if len(p.Errors) != 1 || p.Errors[0].Field != "bulk_action.source.upload" || p.Errors[0].Code != "bad_value" {
			t.Errorf("%s: problem %+v, want one of bulk_action.source.upload", path, p)
		}
	}
}

func TestDuplicatesOfAnUploadAreAllCounted(t *testing.T) {
	r := start(t)
	var file bytes.Buffer
	file.WriteString("user_id,amount\n")
	for i := range 30_000 { // more than one part of it holds
		fmt.Fprintf(&file, "u%d,%d\n", i%3000, i)
	}
	raw := file.Bytes()
	h := tus(r, "POST", "/v1/uploads", 0, nil, 201, http.Header{"Upload-Length": {strconv.Itoa(len(raw))}})
	at := h.Get("Location")[len(r.URL):]
	tus(r, "PATCH", at, 0, raw, 204, nil)
	var b api.BulkAction
	r.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"award"}],"duplicates":"keep_first","source":{"upload":%q},"start":true}`, at[len("/v1/uploads/"):]), 201, &b)
	b = r.Until(b.ID, api.Completed)
	var rep api.Report
	r.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &rep)
	if b.Counts.Done != 3000 || b.Duplicates != 27_000 || rep.Duplicates != 27_000 {
		t.Errorf("%d done, %d duplicates and %d in the report; want 3000, 27000 and 27000", b.Counts.Done, b.Duplicates, rep.Duplicates)
	}
}
