//go:build unix

package serverkill

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv/life"
)

// world is a server that is killed and started again, and all that it calls.
type world struct {
	t      *testing.T
	dir    string
	redis  string // address of the Redis that the server uses; empty: its store is in dir
	down   *downstream
	ears   *receiver
	hooked bool // a webhook is told of every end, besides the callbacks
	pages  *segments
	web    *httptest.Server // what the server calls
	client *http.Client
	url    atomic.Pointer[string] // of the server's present life
	life   int
	now    *life.Process
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), down: newDownstream(), ears: newReceiver(), pages: newSegments(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	mux := http.NewServeMux()
	mux.Handle("POST /actions/{step}", w.down)
	mux.Handle("POST /told/{who}", w.ears)
	mux.Handle("GET /segments/{users}", w.pages)
	w.web = httptest.NewServer(mux)
	w.web.Config.ErrorLog = nil
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		w.web.CloseClientConnections()
		w.web.Close()
	})
	return w
}

// start begins another life of the server.
func (w *world) start() {
	w.t.Helper()
	w.life++
	c := life.Start(w.t, childTest, envDir+"="+w.dir, envWorld+"="+w.web.URL, envRedis+"="+w.redis)
	url, err := c.Await("ready")
	if err != nil {
		w.t.Fatalf("life %d: %v", w.life, err)
	}
	w.now = c
	w.url.Store(&url)
}

// kill ends the present life at once.
func (w *world) kill() {
	w.t.Helper()
	if err := w.now.Kill(); err != nil {
		w.t.Fatalf("life %d: %v", w.life, err)
	}
	w.now = nil
}

// end ends the last life: cleanly if all went well.
func (w *world) end() {
	if w.now == nil {
		return
	}
	if err := w.now.Stop(); err != nil {
		w.t.Errorf("life %d: %v", w.life, err)
	}
	w.now = nil
}

// killOften starts and kills the server so many times, at moments that a random number decides.
func (w *world) killOften(kills int, random *rand.Rand) {
	w.t.Helper()
	for range kills {
		w.start()
		<-time.After(20*time.Millisecond + time.Duration(random.Float64()*float64(800*time.Millisecond)))
		w.kill()
	}
}

// until waits for something to become true.
func until(ctx context.Context, what func() bool) bool {
	for !what() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(25 * time.Millisecond):
		}
	}
	return true
}
