package faultproxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/testkit/testenv/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server sends back what it gets, and counts it.
type server struct {
	addr string
	mu   sync.Mutex
	got  bytes.Buffer
	ends int // connections that ended
}

func (s *server) state() (got string, ends int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String(), s.ends
}

func startServer(t *testing.T) *server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.echo(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return s
}

func (s *server) echo(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		s.mu.Lock()
		s.got.Write(buf[:n])
		if err != nil {
			s.ends++
		}
		s.mu.Unlock()
		if _, bad := c.Write(buf[:n]); err != nil || bad != nil {
			return
		}
	}
}

// world is a server, a proxy before it, and a client.
type world struct {
	*server
	proxy *faultproxy.Proxy
	conn  *net.TCPConn
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := startServer(t)
	w := &world{server: s, proxy: faultproxy.New(t, s.addr)}
	w.conn = w.dial(t)
	return w
}

func (w *world) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.proxy.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// hear wants a text within a time, and returns how long it took.
func hear(t *testing.T, c net.Conn, text string, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	_ = c.SetReadDeadline(began.Add(within))
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("heard %q, %v within %v; want %q", got[:n], err, within, text)
	}
	return time.Since(began)
}

// silent wants nothing to come for a while.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
}

// gone wants the connection to have been reset.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(soon))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read = %v, want a reset connection", err)
	}
}

// unwelcome wants a new connection to be reset, be it while it is made.
func (w *world) unwelcome(t *testing.T) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.proxy.Addr)
	if err == nil {
		defer c.Close()
		gone(t, c)
	} else if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("dial = %v, want a reset connection", err)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v until %s", soon, what)
		}
	}
}

const soon = 5 * time.Second

func TestAGoodNetworkPassesAllOn(t *testing.T) {
	w := newWorld(t)
	big := string(bytes.Repeat([]byte("0123456789"), 100_000))
	go func() { _, _ = w.conn.Write([]byte(big)) }()
	hear(t, w.conn, big, soon)
	_ = w.conn.CloseWrite()
	until(t, "the server sees the end", func() bool { _, ends := w.state(); return ends == 1 })
	if rest, err := io.ReadAll(w.conn); len(rest) != 0 || err != nil {
		t.Errorf("after the end came %q, %v; want a clean end", rest, err)
	}
}

func TestLatencyDelaysButDoesNotThrottle(t *testing.T) {
	w := newWorld(t)
	w.proxy.Set(faultproxy.Faults{Latency: 50 * time.Millisecond})
	big := string(make([]byte, 1<<20))
	go func() { _, _ = w.conn.Write([]byte(big)) }()
	took := hear(t, w.conn, big, soon)
	if took < 100*time.Millisecond || took > time.Second {
		t.Errorf("a megabyte took %v there and back, want 100ms and a little", took)
	}
}

func TestJitterKeepsTheOrder(t *testing.T) {
	w := newWorld(t)
	w.proxy.Set(faultproxy.Faults{Jitter: 20 * time.Millisecond})
	for i := range 20 {
		send(t, w.conn, string(rune('a'+i)))
	}
	if took := hear(t, w.conn, "abcdefghijklmnopqrst", soon); took < time.Millisecond {
		t.Errorf("all came within %v, want some of it late", took)
	}
}

func TestWhatIsDroppedUpIsNeverSeen(t *testing.T) {
	w := newWorld(t)
	send(t, w.conn, "a")
	hear(t, w.conn, "a", soon)
	w.proxy.Set(faultproxy.Faults{Drop: faultproxy.Up})
	send(t, w.conn, "b")
	silent(t, w.conn)
	w.proxy.Heal()
	gone(t, w.conn) // it has lost something in the middle
	if got, _ := w.state(); got != "a" {
		t.Errorf("the server got %q, want a", got)
	}
}

func TestWhatIsDroppedDownWasSeen(t *testing.T) {
	w := newWorld(t)
	w.proxy.Set(faultproxy.Faults{Drop: faultproxy.Down})
	send(t, w.conn, "a")
	until(t, "the server has it", func() bool { got, _ := w.state(); return got == "a" })
	silent(t, w.conn)
	_ = w.conn.CloseWrite()
	until(t, "the server sees the end", func() bool { _, ends := w.state(); return ends == 1 })
	silent(t, w.conn) // its end is dropped too
}

func TestAConnectionThatLostNothingOutlivesADrop(t *testing.T) {
	w := newWorld(t)
	send(t, w.conn, "a")
	hear(t, w.conn, "a", soon)
	w.proxy.Set(faultproxy.Faults{Drop: faultproxy.Up | faultproxy.Down})
	w.proxy.Heal()
	send(t, w.conn, "b")
	hear(t, w.conn, "b", soon)
}

func TestAStallHoldsUpOldAndNewConnections(t *testing.T) {
	w := newWorld(t)
	send(t, w.conn, "a")
	hear(t, w.conn, "a", soon)
	w.proxy.Set(faultproxy.Faults{Stall: true})
	fresh := w.dial(t)
	send(t, w.conn, "b")
	send(t, fresh, "c")
	silent(t, w.conn)
	silent(t, fresh)
	if got, ends := w.state(); got != "a" || ends != 0 {
		t.Errorf("the server got %q and %d ends in the stall, want a and none", got, ends)
	}
	w.proxy.Heal()
	hear(t, w.conn, "b", soon)
	hear(t, fresh, "c", soon)
}

func TestACloseInAStallIsSeenAfterwards(t *testing.T) {
	w := newWorld(t)
	send(t, w.conn, "a")
	hear(t, w.conn, "a", soon)
	w.proxy.Set(faultproxy.Faults{Stall: true})
	_ = w.conn.Close()
	<-time.After(50 * time.Millisecond)
	if _, ends := w.state(); ends != 0 {
		t.Error("the server saw the end through a stall")
	}
	w.proxy.Heal()
	until(t, "the server sees the end", func() bool { _, ends := w.state(); return ends == 1 })
}

func TestAResetCutsAllAndNewOnesWork(t *testing.T) {
	w := newWorld(t)
	other := w.dial(t)
	for _, c := range []net.Conn{w.conn, other} {
		send(t, c, "a")
		hear(t, c, "a", soon)
	}
	w.proxy.Reset()
	gone(t, w.conn)
	gone(t, other)
	until(t, "the server sees both ends", func() bool { _, ends := w.state(); return ends == 2 })
	fresh := w.dial(t)
	send(t, fresh, "b")
	hear(t, fresh, "b", soon)
}

func TestAServerThatIsGoneResetsTheClient(t *testing.T) {
	w := newWorld(t)
	w.proxy = faultproxy.New(t, "127.0.0.1:1") // a port without a listener
	w.unwelcome(t)
}
