package main

import (
	"bufio"
	"bytes"
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
func body(b *bench) error {
	what := "1,000,000 items as an NDJSON body over HTTP: "
	return b.told(b.repeat, "body", params{Items: million},
		claim{key: "per_second", what: what + "until sealed", unit: "items/s", atLeast: 150_000},
		claim{key: "peak_mib", what: what + "peak memory of the server", unit: "MiB", atMost: 300},
		claim{key: "append_ms", what: what + "of that time, the body", unit: "ms"},
		claim{key: "seal_ms", what: what + "of that time, the seal", unit: "ms"})
}

// measureBody is the server's side.
func measureBody(ctx context.Context, dir string, p params) (figures, error) {
	r, err := openServer(ctx, dir, "http://127.0.0.1:1")
	if err != nil {
		return nil, err
	}
	p.URL = r.url
	f, err := other(ctx, "client", p)
	if err != nil {
		return nil, err
	}
	delete(f, "peak_mib") // the client's
	return f, r.stop()
}

// measureClient is the client's side.
func measureClient(ctx context.Context, _ string, p params) (figures, error) {
	begin := time.Now()
	b, err := appendTwoSteps(ctx, p)
	if err != nil {
		return nil, err
	}
	added := time.Now()
	if err := send(ctx, p.URL+b.Links.Self+"/seal", "application/json",
		bytes.NewReader(fmt.Appendf(nil, `{"expected_items":%d}`, p.Items)), &b); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	return figures{
		"per_second": float64(p.Items) / took.Seconds(),
		"append_ms":  float64(added.Sub(begin).Milliseconds()),
		"seal_ms":    float64(time.Since(added).Milliseconds()),
	}, nil
}

// appendTwoSteps makes a bulk action of two steps at a server, and sends it its items as one body.
func appendTwoSteps(ctx context.Context, p params) (b api.BulkAction, err error) {
	const spec = `{"steps":[{"action":"first"},{"action":"second"}]}`
	if err := send(ctx, p.URL+"/v1/bulk-actions", "application/json", strings.NewReader(spec), &b); err != nil {
		return b, err
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(writeRewards(write, p.Items)) }()
	return b, send(ctx, p.URL+b.Links.Items, "application/x-ndjson", read, &api.Appended{})
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
func send(ctx context.Context, url, kind string, content io.Reader, out any) error {
	return ask(ctx, http.MethodPost, url, kind, content, out)
}

// ask makes a request and reads the answer into out, if that is not nil.
func ask(ctx context.Context, method, url, kind string, content io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: status %d: %s %w", method, url, resp.StatusCode, raw, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}
