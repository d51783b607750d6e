package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// body is a million items in the body of one request: created, added and sealed, durably. The client is another process.
func body(b *bench) {
	what := "1,000,000 items as an NDJSON body over HTTP: "
	b.told(b.repeat, "body", params{Items: million},
		claim{key: "per_second", what: what + "until sealed", unit: "items/s", atLeast: 150_000},
		claim{key: "peak_mib", what: what + "peak memory of the server", unit: "MiB", atMost: 300},
		claim{key: "append_ms", what: what + "of that time, the body", unit: "ms"},
		claim{key: "seal_ms", what: what + "of that time, the seal", unit: "ms"})
}

// measureBody is the server's side.
func measureBody(ctx context.Context, dir string, p params) figures {
	r := openServer(ctx, dir, "http://127.0.0.1:1")
	p.URL = r.url
	f := other(ctx, "client", p)
	delete(f, "peak_mib") // the client's
	must(r.stop())
	return f
}

// measureClient is the client's side.
func measureClient(ctx context.Context, _ string, p params) figures {
	begin := time.Now()
	b := appendTwoSteps(ctx, p)
	added := time.Now()
	send(ctx, p.URL+b.Links.Self+"/seal", "application/json", strings.NewReader(fmt.Sprintf(`{"expected_items":%d}`, p.Items)), &b)
	took := time.Since(begin)
	return figures{
		"per_second": float64(p.Items) / took.Seconds(),
		"append_ms":  float64(added.Sub(begin).Milliseconds()),
		"seal_ms":    float64(time.Since(added).Milliseconds()),
	}
}

// appendTwoSteps makes a bulk action of two steps at a server, and sends it its items as one body.
func appendTwoSteps(ctx context.Context, p params) (b api.BulkAction) {
	const spec = `{"steps":[{"action":"first"},{"action":"second"}]}`
	send(ctx, p.URL+"/v1/bulk-actions", "application/json", strings.NewReader(spec), &b)
	read, write := io.Pipe()
	go func() { write.CloseWithError(writeRewards(write, p.Items)) }()
	send(ctx, p.URL+b.Links.Items, "application/x-ndjson", read, &api.Appended{})
	return b
}

// writeRewards writes the items of [rewards] as NDJSON.
func writeRewards(to io.Writer, n int) error {
	w := bufio.NewWriterSize(to, 64<<10)
	for it, err := range rewards(n) {
		if err != nil {
			return err
		}
		_, _ = w.WriteString(`{"id":"`) // Flush returns what went wrong
		_, _ = w.WriteString(it.ID)
		_, _ = w.WriteString(`",`)
		_, _ = w.Write(it.Value[1:])
		_ = w.WriteByte('\n')
	}
	return w.Flush()
}

// send posts a body and reads the answer into out.
func send(ctx context.Context, url, kind string, content io.Reader, out any) {
	ask(ctx, http.MethodPost, url, kind, content, out)
}

// ask makes a request and reads the answer into out, if that is not nil.
func ask(ctx context.Context, method, url, kind string, content io.Reader, out any) {
	req := sure(http.NewRequestWithContext(ctx, method, url, content))
	req.Header.Set("Content-Type", kind)
	resp := sure(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	raw := sure(io.ReadAll(resp.Body))
	if resp.StatusCode >= http.StatusMultipleChoices {
		must(fmt.Errorf("%s %s: status %d: %s", method, url, resp.StatusCode, raw))
	}
	if out != nil {
		must(json.Unmarshal(raw, out))
	}
}
