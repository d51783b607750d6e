package badinput

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// reply is an answer.
type reply struct {
	status  int
	header  http.Header
	raw     []byte
	problem api.Problem
}

// said returns all that a problem tells people.
func (r *reply) said() string {
	parts := []string{r.problem.Detail, r.problem.Fix}
	for _, f := range r.problem.Errors {
		parts = append(parts, f.Field, f.Message, f.Fix)
	}
	return strings.Join(parts, "\n")
}

// ask plays a request.
type ask func(w *world) reply

// call makes a request with a key; header are pairs of names and values, of which the empty takes one away.
func (w *world) call(key, method, path, body string, header ...string) reply {
	w.t.Helper()
	return w.do(key, method, path, strings.NewReader(body), header...)
}

func (w *world) do(key, method, path string, body io.Reader, header ...string) reply {
	w.t.Helper()
	for name, id := range w.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.addr+path, body)
	must(w.t, err)
	if req.ContentLength != 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+w.keys[key])
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Del(header[i])
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := w.client.Do(req)
	must(w.t, err)
	return read(w, resp)
}

func read(w *world, resp *http.Response) reply {
	w.t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(w.t, err)
	r := reply{status: resp.StatusCode, header: resp.Header, raw: raw}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		must(w.t, json.Unmarshal(raw, &r.problem))
	}
	return r
}

// create asks for a bulk action.
func create(body string, header ...string) ask {
	return func(w *world) reply { return w.call("acme", "POST", "/v1/bulk-actions", body, header...) }
}

// asks makes any request.
func asks(method, path, body string, header ...string) ask {
	return func(w *world) reply { return w.call("acme", method, path, body, header...) }
}

// as makes any request with another key.
func as(key, method, path, body string, header ...string) ask {
	return func(w *world) reply { return w.call(key, method, path, body, header...) }
}

// ndjson and csv add items to the draft.
func ndjson(body string, header ...string) ask {
	return asks("POST", "/v1/bulk-actions/{draft}/items", body, append([]string{"Content-Type", "application/x-ndjson"}, header...)...)
}

func csv(body string) ask { return csvBy("", body) }

func csvBy(query, body string) ask {
	return asks("POST", "/v1/bulk-actions/{draft}/items"+query, body, "Content-Type", "text/csv")
}

// onWire plays bytes on a connection of its own, and reads what comes back. What
// is sent after the request is up to then, which ends when the connection does.
func onWire(request string, then func(net.Conn)) ask {
	return func(w *world) reply {
		w.t.Helper()
		conn, err := net.Dial("tcp", w.addr)
		must(w.t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			request = strings.NewReplacer("{key}", w.keys["acme"], "{draft}", w.ids["draft"], "\n", "\r\n").Replace(request)
			_, _ = conn.Write([]byte(request)) // the answer tells what came of it
			then(conn)
		}()
		defer func() { _ = conn.Close(); <-ended }()
		must(w.t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(w.t, err)
		return read(w, resp)
	}
}

// withGzip sends what was packed so.
func withGzip(path string, kind string, packed func() []byte) ask {
	return func(w *world) reply {
		return w.do("acme", "POST", path, bytes.NewReader(packed()), "Content-Type", kind, "Content-Encoding", "gzip")
	}
}
