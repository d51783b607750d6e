package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// endpoint is items through two HTTP actions on loopback that answer at once, in batches of 100.
func endpoint(b *bench) error {
	return b.told(b.repeat, "endpoint", params{Items: 300_000},
		claim{key: "per_second", what: "300,000 items, 2 HTTP actions on loopback, batch 100", unit: "steps/s", atLeast: 60_000},
		claim{key: "peak_mib", what: "300,000 items, 2 HTTP actions: peak memory of the server", unit: "MiB"})
}

// segment is a list of a million users behind a URL, read page by page, until all of them are accepted.
func segment(b *bench) error {
	return b.told(1, "segment", params{Items: million},
		claim{key: "per_second", what: "1,000,000 users in pages of 1,000: until accepted", unit: "items/s"},
		claim{key: "peak_mib", what: "1,000,000 users in pages of 1,000: peak memory", unit: "MiB", atMost: 300},
		claim{key: "list_ms", what: "with 1,000,000 items kept: a page of the list, 99 of 100", unit: "ms"})
}

func measureEndpoint(ctx context.Context, dir string, p params) (figures, error) {
	url, end, err := farSide(ctx, p)
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := openServer(ctx, dir, url)
	if err != nil {
		return nil, err
	}
	p.URL = r.url
	b, err := appendTwoSteps(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := send(ctx, r.url+b.Links.Self+"/seal", "application/json", strings.NewReader(`{}`), &b); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := send(ctx, r.url+b.Links.Self+"/start", "application/json", strings.NewReader(`{}`), &b); err != nil {
		return nil, err
	}
	if b, err = r.until(ctx, b.ID); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if b.Counts.Done != int64(p.Items) {
		return nil, fmt.Errorf("counts are %+v, want all of %d done", b.Counts, p.Items)
	}
	return figures{"per_second": 2 * float64(p.Items) / took.Seconds()}, r.stop()
}

func measureSegment(ctx context.Context, dir string, p params) (figures, error) {
	url, end, err := farSide(ctx, p)
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := openServer(ctx, dir, url)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	var b api.BulkAction
	spec := fmt.Sprintf(`{"steps":[{"action":"first"}],"start":true,"source":{"segment":{"url":"%s/users"},"page_size":1000}}`, url)
	if err := send(ctx, r.url+"/v1/bulk-actions", "application/json", strings.NewReader(spec), &b); err != nil {
		return nil, err
	}
	for b.State != api.Running && b.State != api.Completed {
		if b, err = r.Service().Bulks.Get(ctx, b.ID); err != nil || b.State == api.Failed {
			return nil, fmt.Errorf("segment: %s %w", b.Reason, err)
		}
		<-time.After(5 * time.Millisecond)
	}
	took := time.Since(begin)
	if b.Counts.Total != int64(p.Items) {
		return nil, fmt.Errorf("there are %d items, want %d", b.Counts.Total, p.Items)
	}
	slowest, err := listed(ctx, r)
	if err != nil {
		return nil, err
	}
	return figures{"per_second": float64(p.Items) / took.Seconds(), "list_ms": float64(slowest.Microseconds()) / 1000}, r.stop()
}

// listed asks for the list of bulk actions a hundred times, and returns how long the second slowest took.
func listed(ctx context.Context, r *serverRig) (time.Duration, error) {
	took := make([]time.Duration, 100)
	for i := range took {
		begin := time.Now()
		if err := ask(ctx, http.MethodGet, r.url+"/v1/bulk-actions", "", http.NoBody, nil); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[len(took)-2], nil
}

// farSide starts what a server calls, in a process of its own, and returns its URL.
func farSide(ctx context.Context, p params) (url string, end func(), err error) {
	cmd, err := child(ctx, "far", p)
	if err != nil {
		return "", nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	return lines.Text(), func() {
		_ = stdin.Close()
		_ = cmd.Wait() // its figures are not used
	}, lines.Err()
}

// measureFar answers actions and pages until its parent ends.
func measureFar(ctx context.Context, _ string, p params) (figures, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{step}", allDone)
	mux.HandleFunc("GET /users", func(w http.ResponseWriter, r *http.Request) { users(w, r, p.Items) })
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(l) }() // Close ends it
	fmt.Println("http://" + l.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return figures{}, web.Close()
}

// allDone answers that every item of a batch is done.
func allDone(w http.ResponseWriter, r *http.Request) {
	var batch struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := append(make([]byte, 0, 64*len(batch.Items)), `{"results":[`...)
	for i, it := range batch.Items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(append(out, `{"id":`...), it.ID), `,"status":"done"}`...)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(out, `]}`...)) // who is gone asks again
}

// users answers with a page; the cursor is how many came before it.
func users(w http.ResponseWriter, r *http.Request, n int) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor")) // empty: the beginning
	to := min(n, from+limit)
	out := append(make([]byte, 0, 64*(to-from)), `{"items":[`...)
	for i := from; i < to; i++ {
		if i > from {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":"user-%d","n":%d}`, i, i)
	}
	out = append(out, ']')
	if to < n {
		out = fmt.Appendf(out, `,"next_cursor":"%d"`, to)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(out, '}')) // who is gone asks again
}
