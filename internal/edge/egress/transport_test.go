package egress

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/edge/execute"
)

// Calls of actions and all other calls reuse connections alike.
func TestTransportIsSetUpAsThatOfActions(t *testing.T) {
	own, actions := reflect.ValueOf(New(Policy{}).Transport(TLSOptions{})).Elem(), reflect.ValueOf(execute.NewTransport()).Elem()
	for i := range own.NumField() {
		if f := own.Type().Field(i); f.IsExported() && own.Field(i).Comparable() && f.Type.Kind() != reflect.Pointer && !own.Field(i).Equal(actions.Field(i)) {
			t.Errorf("%s = %v, want %v", f.Name, own.Field(i), actions.Field(i))
		}
	}
	if !own.FieldByName("Proxy").IsNil() {
		t.Error("transport has a proxy, want none")
	}
}

// hostile serves raw connections: respond writes what it likes after the request came.
func hostile(t *testing.T, respond func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			respond(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// endless writes the same bytes until the peer has gone and returns how many.
func endless(w io.Writer, chunk string) (n int64) {
	chunk = strings.Repeat(chunk, 1+8192/len(chunk))
	for n < 1<<30 {
		m, err := io.WriteString(w, chunk)
		if n += int64(m); err != nil {
			return n
		}
	}
	return n
}

func TestHostileAnswersAreCutOff(t *testing.T) {
	for _, tt := range []struct {
		name    string
		respond func(net.Conn) int64
		want    string
		most    int64 // bytes that the server gets rid of; buffers of the system take some MiB
	}{
		{"endless header line", func(c net.Conn) int64 {
			return endless(c, "HTTP/1.1 200 OK\r\nX-A: aaaaaaaa")
		}, "exceeded", 32 << 20},
		{"endless header lines", func(c net.Conn) int64 {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			return endless(c, "X-A: a\r\n")
		}, "exceeded", 32 << 20},
		{"endless interim answers", func(c net.Conn) int64 {
			return endless(c, "HTTP/1.1 103 Early Hints\r\nX-A: a\r\n\r\n")
		}, "", 32 << 20},
		{"endless body", func(c net.Conn) int64 {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			return endless(c, "x")
		}, "larger than 8 MiB", 64 << 20},
		{"endless chunks", func(c net.Conn) int64 {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			return endless(c, "400\r\n"+strings.Repeat("x", 1024)+"\r\n")
		}, "", 64 << 20},
		{"no HTTP", func(c net.Conn) int64 { n, _ := io.WriteString(c, "220 mail ready\r\n"); return int64(n) }, "malformed", 1 << 10},
		{"nothing", func(net.Conn) int64 { return 0 }, "EOF", 1},
		{"cut body", func(c net.Conn) int64 {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			return 0
		}, "unexpected EOF", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent atomic.Int64
			at := hostile(t, func(c net.Conn) { sent.Store(tt.respond(c)) })
			g := New(Policy{Allow: Loopback()})
			body, err := get(g.Client(20*time.Second), at)
			g.CloseIdleConnections()
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(body) > MaxAnswer {
				t.Errorf("get = %d bytes, %v; want %q", len(body), err, tt.want)
			}
			if sent.Load() > tt.most {
				t.Errorf("%d bytes were sent before the call gave up, want at most %d", sent.Load(), tt.most)
			}
		})
	}
}

func get(c *http.Client, at string) ([]byte, error) {
	answer, err := c.Get(at)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

func TestSlowAnswersEndWithTheTimeout(t *testing.T) {
	for _, tt := range []struct {
		name, begin string
	}{
		{"no answer", ""},
		{"slow header", "HTTP/1.1 200 OK\r\nX-"},
		{"slow body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := hostile(t, func(c net.Conn) {
				_, _ = io.WriteString(c, tt.begin)
				_, _ = io.Copy(io.Discard, c) // until the caller has had enough
			})
			g := New(Policy{Allow: Loopback()})
			if _, err := get(g.Client(50*time.Millisecond), at); err == nil || !isTimeout(err) {
				t.Errorf("get = %v, want a timeout", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

func TestAnswerThatFillsTheLimitIsWhole(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes int
		whole bool
	}{{"at the limit", MaxAnswer, true}, {"one more", MaxAnswer + 1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(make([]byte, tt.bytes))
			}))
			defer srv.Close()
			g := New(Policy{Allow: Loopback()})
			defer g.CloseIdleConnections()
			body, err := get(g.Client(0), srv.URL)
			_, large := errors.AsType[*TooLargeError](err)
			if len(body) != MaxAnswer || large == tt.whole || (err == nil) != tt.whole {
				t.Errorf("get = %d bytes, %v; want whole = %v", len(body), err, tt.whole)
			}
		})
	}
}

func TestCompressedAnswerStaysPacked(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding")+"packed")
	}))
	defer srv.Close()
	g := New(Policy{Allow: Loopback()})
	defer g.CloseIdleConnections()
	if body, err := get(g.Client(0), srv.URL); err != nil || string(body) != "packed" {
		t.Errorf("get = %q, %v, want the bytes as sent, and nothing asked for", body, err)
	}
}
