package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// sendAll sends a whole request before it reads the answer, as many clients do.
func sendAll(t *testing.T, n *nodetest.Node, header, body string) (int, api.Problem) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(n.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, fmt.Sprintf("POST /v1/bulk-actions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n", len(body), header)+body); err != nil {
		t.Fatalf("the server did not take the whole body: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	var p api.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, p
}

// A body that is refused, whatever for, is taken all the same: its client sees the answer, and no broken connection.
func TestAClientThatSendsALargeBodyFirstSeesTheAnswer(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Server: server.Options{MaxBody: 1 << 20}})
	large := `{"name":"` + strings.Repeat("x", 24<<20) + `"}`
	const plain = "Content-Type: application/json\r\n"
	for _, tt := range []struct {
		name, header string
		status       int
		code         string
	}{
		{"more than the body limit", plain, 413, "body_too_large"},
		{"another type", "Content-Type: text/plain\r\n", 415, "unsupported_media_type"},
		{"a key that is not valid", plain + "Authorization: Bearer wk_nobody\r\n", 401, "bad_credentials"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if status, p := sendAll(t, n, tt.header, large); status != tt.status || p.Code != tt.code {
				t.Errorf("status %d, %+v; want %d %s", status, p, tt.status, tt.code)
			}
		})
	}
}

// A body for which there is no memory is refused, and taken all the same.
func TestAClientWithoutMemoryForItsBodySeesTheAnswer(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Server: server.Options{MaxBody: 16 << 20, Memory: 1 << 20}})
	part := `{"name":"` + strings.Repeat("x", 15<<20)
	for range 2 { // bodies that do not end
		r, w := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/v1/bulk-actions", r)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		go func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
	n.Eventually("a body is refused for want of memory", func() bool {
		status, p := sendAll(t, n, "Content-Type: application/json\r\n", part+`"}`)
		return status == 503 && p.Code == "overloaded"
	})
}

func TestAnIdempotencyKeyIsGivenOnce(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	var p api.Problem
	n.CallWith("POST", "/v1/bulk-actions", `{}`, http.Header{"Idempotency-Key": {"a", "b"}}, 400, &p)
	if p.Code != "bad_idempotency_key" || !strings.Contains(p.Detail, "Idempotency-Key is there 2 times") {
		t.Errorf("two keys are answered with %+v", p)
	}
}
