package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// fourLines are items of which b does not fit the schema {n: integer}; d does only if its step gives it an n.
const fourLines = `{"id":"a","n":1}
{"id":"b","n":"x"}
{"id":"c","n":3}
{"id":"d","late":true}
`

// waysIn are the ways in which items come. Each makes a bulk action of a spec, or tells why it is refused.
var waysIn = map[string]func(t *testing.T, n *nodetest.Node, source, spec string) (b api.BulkAction, refusal string){
	"in the request": func(t *testing.T, n *nodetest.Node, _, spec string) (api.BulkAction, string) {
		var items []string
		for l := range strings.Lines(fourLines) {
			items = append(items, fmt.Sprintf(`{"id":%q,"data":%s}`, l[7:8], l))
		}
		return posted(t, n, "/v1/bulk-actions", fmt.Sprintf(`{%s,"start":true,"items":[%s]}`, spec, strings.Join(items, ",")), nil)
	},
	"as a body": func(t *testing.T, n *nodetest.Node, _, spec string) (api.BulkAction, string) {
		b, _ := posted(t, n, "/v1/bulk-actions", "{"+spec+"}", nil)
		if _, refusal := posted(t, n, "/v1/bulk-actions/"+b.ID+"/items", fourLines, http.Header{"Content-Type": {"application/x-ndjson"}}); refusal != "" {
			return b, refusal
		}
		return posted(t, n, "/v1/bulk-actions/"+b.ID+"/seal", `{"start":true}`, nil)
	},
	"from a segment": func(t *testing.T, n *nodetest.Node, source, spec string) (api.BulkAction, string) {
		return imported(t, n, fmt.Sprintf(`{%s,"start":true,"source":{"segment":{"url":%q}}}`, spec, source))
	},
	"from an upload": func(t *testing.T, n *nodetest.Node, _, spec string) (api.BulkAction, string) {
		return imported(t, n, fmt.Sprintf(`{%s,"start":true,"source":{"upload":%q}}`, spec, uploaded(t, n, fourLines)))
	},
}

// posted makes a request, and returns the bulk action or why it was refused.
func posted(t *testing.T, n *nodetest.Node, path, body string, h http.Header) (b api.BulkAction, refusal string) {
	t.Helper()
	resp := n.Request(t.Context(), "POST", path, body, h)
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	switch {
	case err != nil:
		t.Fatal(err)
	case resp.StatusCode >= 300:
		return b, string(raw)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	return b, ""
}

// imported makes a bulk action of a source, and returns it when it was read.
func imported(t *testing.T, n *nodetest.Node, body string) (b api.BulkAction, refusal string) {
	t.Helper()
	b, refusal = posted(t, n, "/v1/bulk-actions", body, nil)
	if refusal != "" {
		return b, refusal
	}
	n.Eventually("the source is read", func() bool {
		n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
		return b.State != api.Scheduled && b.State != api.Importing
	})
	if b.State == api.Failed {
		refusal = b.Reason
	}
	return b, refusal
}

// uploaded sends a file, and returns the id of its upload.
func uploaded(t *testing.T, n *nodetest.Node, text string) string {
	t.Helper()
	tus := http.Header{"Tus-Resumable": {"1.0.0"}, "Upload-Length": {fmt.Sprint(len(text))}}
	where := n.CallWith("POST", "/v1/uploads", "", tus, 201, nil).Get("Location")
	id := where[strings.LastIndexByte(where, '/')+1:]
	n.CallWith("PATCH", "/v1/uploads/"+id, text, http.Header{"Tus-Resumable": {"1.0.0"}, "Upload-Offset": {"0"}, "Content-Type": {"application/offset+octet-stream"}}, 204, nil)
	return id
}

// The schema of the first action is held against what that action gets, however the
// items come, and on_bad_line says what happens to those that do not fit.
func TestItemsAreHeldAgainstTheSchemaHoweverTheyCome(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	url := downstream(t, func(*http.Request, []byte) (int, string) { return 200, `{"default":"done"}` })
	source := downstream(t, func(*http.Request, []byte) (int, string) {
		return 200, `{"items":[` + strings.ReplaceAll(strings.TrimSpace(fourLines), "\n", ",") + `]}`
	})
	n.Call("PUT", "/v1/actions/pick", fmt.Sprintf(`{"url":%q,"schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}`, url), 200, nil)
	for way, put := range waysIn {
		for _, tt := range []struct {
			name, step string
			bad        int64
		}{
			{"as they are", `{"action":"pick"}`, 2},
			{"by an input", `{"action":"pick","input":{"n":"item.n ?? 7"}}`, 1},
			{"on a condition", `{"action":"pick","when":"item.late != true"}`, 1},
		} {
			t.Run(way+", "+tt.name, func(t *testing.T) {
				if _, refusal := put(t, n, source, `"steps":[`+tt.step+`]`); !strings.Contains(refusal, "n") || !strings.Contains(refusal, "whole number") {
					t.Errorf("refused with %q, want it to name n and what it should be", refusal)
				}
				b, refusal := put(t, n, source, `"on_bad_line":"record","steps":[`+tt.step+`]`)
				if refusal != "" {
					t.Fatalf("on_bad_line record: refused with %s", refusal)
				}
				b = n.Until(b.ID, api.Completed)
				if b.BadLines != tt.bad || b.Counts.Total != 4-tt.bad || b.Counts.Failed != 0 {
					t.Errorf("%d bad lines, %+v; want %d of 4", b.BadLines, b.Counts, tt.bad)
				}
			})
		}
	}
}

func TestRowsThatCannotBeReadAreRefusedOrCountedHoweverTheyCome(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	url := downstream(t, func(*http.Request, []byte) (int, string) { return 200, `{"default":"done"}` })
	n.Call("PUT", "/v1/actions/pick", fmt.Sprintf(`{"url":%q}`, url), 200, nil)
	source := downstream(t, func(*http.Request, []byte) (int, string) { return 200, `{"items":[{"id":"a"},{"n":1},{"id":"b"}]}` })
	for name, from := range map[string]func() string{
		"segment": func() string { return fmt.Sprintf(`"source":{"segment":{"url":%q}}`, source) },
		"upload": func() string {
			return fmt.Sprintf(`"source":{"upload":%q}`, uploaded(t, n, "{\"id\":\"a\"}\n{\"id\":\n{\"id\":\"b\"}\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			const spec = `{"steps":[{"action":"pick"}],"item_id":"id","start":true,`
			if _, refusal := imported(t, n, spec+from()+`}`); refusal == "" {
				t.Error("a bad row was not refused")
			}
			b, refusal := imported(t, n, spec+`"on_bad_line":"record",`+from()+`}`)
			if refusal != "" {
				t.Fatal(refusal)
			}
			if b = n.Until(b.ID, api.Completed); b.BadLines != 1 || b.Counts.Done != 2 {
				t.Errorf("%d bad lines, %+v; want 1 and 2 done", b.BadLines, b.Counts)
			}
		})
	}
}
