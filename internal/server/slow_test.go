package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/server"
)

// slowConns is how many connections crawl; WEIR_SLOW_CONNECTIONS makes it more, and has times compared.
const slowConns = 200

// listen has the world's server listen as weir serve does, with less patience.
func (w *world) listen(patience time.Duration) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	s := server.HTTP(w.t.Context(), w.node.Handler(), slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout != 5*time.Second || s.IdleTimeout != time.Minute {
		w.t.Errorf("headers within %v, idle for %v", s.ReadHeaderTimeout, s.IdleTimeout)
	}
	s.ReadHeaderTimeout = patience
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	w.url = "http://" + l.Addr().String()
	w.t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			w.t.Error(err)
		}
	})
}

// crawl opens a connection whose request never ends.
func (w *world) crawl() net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, "GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nX-Slow: "); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// p99 is how long the slowest of a hundred requests take.
func (w *world) p99(n int) time.Duration {
	w.t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		w.must(w.admin, "GET", "/v1/whoami", "", nil)
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[n*99/100]
}

// slowMost is what a request may take beside slow connections on a machine that is
// busy with other things: far less than the two seconds for which one of them holds its place.
const slowMost = time.Second

func TestSlowConnectionsHoldNobodyUp(t *testing.T) {
	conns := slowConns
	if n, err := strconv.Atoi(os.Getenv("WEIR_SLOW_CONNECTIONS")); err == nil && n > conns {
		conns = n
	}
	w := start(t, opening{})
	w.listen(2 * time.Second)
	idle := w.p99(200)
	open := make([]net.Conn, conns)
	for i := range open {
		open[i] = w.crawl()
	}
	busy := w.p99(200)
	t.Logf("p99 of a normal caller: %v alone, %v beside %d slow connections", idle, busy, conns)
	if busy > max(5*idle, slowMost) {
		t.Errorf("p99 of a normal caller: %v alone, %v beside %d slow connections", idle, busy, conns)
	}
	for i, c := range open {
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatalf("slow connection %d is still open", i)
		}
		if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 408") {
			t.Fatalf("slow connection %d is answered %.80q", i, answer)
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	w := start(t, opening{})
	w.listen(5 * time.Second)
	for _, tt := range []struct {
		bytes, want int
	}{{30 << 10, 200}, {33 << 10, 431}, {1 << 20, 431}} {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { // the server does not read it all
			_, _ = fmt.Fprintf(c, "GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nX-Long: %s\r\n\r\n", w.admin, strings.Repeat("a", tt.bytes))
		}()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", tt.bytes, err)
		}
		_ = resp.Body.Close()
		_ = c.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("headers of %d bytes: %d, want %d", tt.bytes, resp.StatusCode, tt.want)
		}
	}
}
