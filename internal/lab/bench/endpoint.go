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
func endpoint(b *bench) {
	b.told(b.repeat, "endpoint", params{Items: 300_000},
		claim{key: "per_second", what: "300,000 items, 2 HTTP actions on loopback, batch 100", unit: "steps/s", atLeast: 60_000},
		claim{key: "peak_mib", what: "300,000 items, 2 HTTP actions: peak memory of the server", unit: "MiB"})
}

// segment is a list of a million users behind a URL, read page by page, until all of them are accepted.
func segment(b *bench) {
	b.told(1, "segment", params{Items: million},
		claim{key: "per_second", what: "1,000,000 users in pages of 1,000: until accepted", unit: "items/s"},
		claim{key: "peak_mib", what: "1,000,000 users in pages of 1,000: peak memory", unit: "MiB", atMost: 300},
		claim{key: "list_ms", what: "with 1,000,000 items kept: a page of the list, 99 of 100", unit: "ms"})
}

func measureEndpoint(ctx context.Context, dir string, p params) figures {
	url, end := farSide(ctx, p)
	defer end()
	r := openServer(ctx, dir, url)
	p.URL = r.url
	b := appendTwoSteps(ctx, p)
	send(ctx, r.url+b.Links.Self+"/seal", "application/json", strings.NewReader(`{}`), &b)
	begin := time.Now()
	send(ctx, r.url+b.Links.Self+"/start", "application/json", strings.NewReader(`{}`), &b)
	b = r.until(ctx, b.ID, api.Completed)
	took := time.Since(begin)
	if b.Counts.Done != int64(p.Items) {
		must(fmt.Errorf("counts are %+v, want all of %d done", b.Counts, p.Items))
	}
	must(r.stop())
	return figures{"per_second": 2 * float64(p.Items) / took.Seconds()}
}

func measureSegment(ctx context.Context, dir string, p params) figures {
	url, end := farSide(ctx, p)
	defer end()
	r := openServer(ctx, dir, url)
	begin := time.Now()
	var b api.BulkAction
	spec := fmt.Sprintf(`{"steps":[{"action":"first"}],"start":true,"source":{"segment":{"url":"%s/users"},"page_size":1000}}`, url)
	send(ctx, r.url+"/v1/bulk-actions", "application/json", strings.NewReader(spec), &b)
	b = r.until(ctx, b.ID, api.Running, api.Completed)
	took := time.Since(begin)
	if b.Counts.Total != int64(p.Items) {
		must(fmt.Errorf("there are %d items, want %d", b.Counts.Total, p.Items))
	}
	slowest := listed(ctx, r)
	must(r.stop())
	return figures{"per_second": float64(p.Items) / took.Seconds(), "list_ms": float64(slowest.Microseconds()) / 1000}
}

// listed asks for the list of bulk actions a hundred times, and returns how long the second slowest took.
func listed(ctx context.Context, r *serverRig) time.Duration {
	took := make([]time.Duration, 100)
	for i := range took {
		begin := time.Now()
		ask(ctx, http.MethodGet, r.url+"/v1/bulk-actions", "", http.NoBody, nil)
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[len(took)-2]
}

// farSide starts what a server calls, in a process of its own, and returns its URL.
func farSide(ctx context.Context, p params) (url string, end func()) {
	cmd := child(ctx, "far", p)
	stdin, out := sure(cmd.StdinPipe()), sure(cmd.StdoutPipe())
	must(cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Scan()
	must(lines.Err())
	return lines.Text(), func() {
		_ = stdin.Close()
		_ = cmd.Wait() // its figures are not used
	}
}

// measureFar answers actions and pages until its parent ends.
func measureFar(ctx context.Context, _ string, p params) figures {
	l := sure((&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{step}", allDone)
	mux.HandleFunc("GET /users", func(w http.ResponseWriter, r *http.Request) { users(w, r, p.Items) })
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(l) }() // Close ends it
	fmt.Println("http://" + l.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	must(web.Close())
	return figures{}
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
	_, _ = w.Write(append(out, `]}`...)) // a caller that is gone asks again
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
	_, _ = w.Write(append(out, '}')) // a caller that is gone asks again
}
