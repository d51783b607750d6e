package endpoints

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// raw is the table of requests that no client for HTTP makes. 0 is a closed connection.
var raw = []struct {
	name, head, body string
	want             []int
	early            bool // the response comes before the body, which is not sent
}{
	{"a body that is cut off", "Content-Length: 1000", good, []int{0, 400, 408}, false},
	{"a body of 1 GiB", "Content-Length: 1073741824", "", []int{413}, true},
	{"a length that is too large for a number", "Content-Length: " + strings.Repeat("9", 100), "", []int{0, 400, 411, 413, 500}, true},
	{"a negative length", "Content-Length: -5", "", []int{0, 400, 411, 500}, true},
	{"a length that is text", "Content-Length: many", "", []int{0, 400, 411, 500}, true},
	{"no length", "X-None: 1", "", []int{0, 400, 411}, true},
	{"a length and chunks", "Content-Length: 5\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n", []int{0, 400, 401, 411}, true},
	{"chunks", "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n", []int{0, 400, 411}, true},
}

// checkRaw sends bytes that are not HTTP as it should be, and bodies that do not end.
func (e *endpoint) checkRaw(t *testing.T) {
	t.Helper()
	for _, tt := range raw {
		if e.buffers && tt.early {
			continue
		}
		conn := e.open(t, tt.head, tt.body)
		if !tt.early {
			_ = conn.(*net.TCPConn).CloseWrite() // the response says whether it was noticed
		}
		if got := status(t, conn, 15*time.Second); !slices.Contains(tt.want, got) {
			t.Errorf("%s: status %d, want %v", tt.name, got, tt.want)
		}
		_ = conn.Close()
	}
	var slow []net.Conn
	for range 12 { // more than the calls that it does at a time
		conn := e.open(t, "Content-Length: 1000", `{"items":[`)
		defer conn.Close()
		slow = append(slow, conn)
	}
	from := time.Now()
	e.results(t, good, "u1")
	if took := time.Since(from); took > 10*time.Second {
		t.Errorf("beside slow calls, another one took %v", took)
	}
	if e.buffers {
		return
	}
	for _, conn := range slow {
		if got := status(t, conn, 30*time.Second); got != 0 && got != http.StatusBadRequest && got != http.StatusRequestTimeout {
			t.Errorf("a body that does not end: status %d, want a closed connection, 400 or 408", got)
		}
	}
}

// open sends the head of a call and the beginning of its body.
func (e *endpoint) open(t *testing.T, head, body string) net.Conn {
	t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(e.url, "http://"), "/")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n%s", path, host, head, body); err != nil {
		t.Fatal(err)
	}
	return conn
}

// status reads the status of a response. It is 0 if the connection is closed without one, -1 if neither happens in time.
func status(t *testing.T, conn net.Conn, within time.Duration) int {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		var slow net.Error
		if errors.As(err, &slow) && slow.Timeout() {
			return -1
		}
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body) // it may be cut off
	_ = resp.Body.Close()
	return resp.StatusCode
}
