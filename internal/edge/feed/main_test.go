package feed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// many is the number of items in a source that is read with crashes.
func many() int {
	if testing.Short() {
		return 2_000
	}
	return 10_000
}

// rig opens feeds of one spec in a world whose connections can be made to break.
type rig struct {
	t    testing.TB
	spec feed.Spec
	conn feed.Connection
	net  network
}

func (r *rig) world() feed.World {
	transport := &http.Transport{DialContext: r.net.dial}
	r.t.Cleanup(transport.CloseIdleConnections)
	return feed.World{Client: &http.Client{Transport: transport}, Dial: r.net.dial, Now: time.Now}
}

func (r *rig) open() feed.Feed {
	r.t.Helper()
	f, err := feed.Open(r.spec, func(name string) (feed.Connection, error) {
		if name != "there" {
			return feed.Connection{}, fmt.Errorf("connection %q: %w", name, weir.ErrNotFound)
		}
		return r.conn, nil
	}, r.world())
	if err != nil {
		r.t.Fatalf("Open: %v", err)
	}
	r.t.Cleanup(func() { _ = f.Close() })
	return f
}

// first reads the first page.
func (r *rig) first() (feed.Page, error) {
	f := r.open()
	defer f.Close()
	return f.Read(r.t.Context(), "")
}

// readOn reads to the end with one feed; a crash at every page boundary if each page has its own.
func (r *rig) readOn(from feed.Cursor, each bool) (items []weir.RawItem, pages int) {
	r.t.Helper()
	f := r.open()
	for {
		p, err := f.Read(r.t.Context(), from)
		if err != nil {
			r.t.Fatalf("Read page %d: %v", pages+1, err)
		}
		items, from, pages = append(items, p.Items...), p.Next, pages+1
		if p.Last {
			_ = f.Close()
			return items, pages
		}
		if each {
			_ = f.Close()
			f = r.open()
		}
	}
}

// fails reads until there is an error, with one feed or with a new one for each page.
func (r *rig) fails(anew bool) error {
	f := r.open()
	for from := feed.Cursor(""); ; {
		p, err := f.Read(r.t.Context(), from)
		if err != nil || p.Last {
			return err
		}
		if from = p.Next; anew {
			f = r.open()
		}
	}
}

// crash reads to the end while connections break and readers die at random moments, about every second page.
// It returns what a caller keeps that stores a page and its cursor in one write, and how often it began again.
func (r *rig) crash(seed uint64, pageBytes int64) (items []weir.RawItem, crashes int) {
	r.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	var from feed.Cursor
	f := r.open()
	for {
		ctx, cancel := context.WithCancel(r.t.Context())
		dies := rng.IntN(2) == 0
		r.net.after(rng.Int64N(2*pageBytes), func(c net.Conn) {
			if dies {
				cancel()
			} else {
				_ = c.Close()
			}
		})
		p, err := f.Read(ctx, from)
		cancel()
		if bad, ok := errors.AsType[*feed.PermanentError](err); ok {
			r.t.Fatalf("after %d items: a broken connection became permanent: %v", len(items), bad)
		}
		if err != nil {
			crashes++
		} else {
			items, from = append(items, p.Items...), p.Next
			if p.Last {
				r.net.after(1<<60, nil)
				_ = f.Close()
				return items, crashes
			}
		}
		if err != nil && dies || rng.IntN(4) == 0 {
			_ = f.Close()
			f = r.open()
		}
	}
}

// survives checks that every item comes exactly once and in order, however reading is interrupted.
func (r *rig) survives(want []weir.RawItem, pageBytes int64) {
	r.t.Helper()
	got, pages := r.readOn("", false)
	sameItems(r.t, "read without a crash", got, want)
	got, again := r.readOn("", true)
	sameItems(r.t, "read with a crash at each of the page boundaries", got, want)
	if pages < 5 || again != pages {
		r.t.Errorf("pages = %d, and %d with crashes, want the same and some", pages, again)
	}
	r.repeats()
	enough := uint64(len(want)) / 500
	total := uint64(0)
	for seed := uint64(0); total < enough; seed++ {
		if seed == 10*enough {
			r.t.Fatalf("crashes = %d: too few to show anything", total)
		}
		got, crashes := r.crash(seed, pageBytes)
		sameItems(r.t, fmt.Sprintf("seed %d, %d crashes", seed, crashes), got, want)
		total += uint64(crashes)
	}
}

// repeats checks that a feed gives the same page for the same cursor, as often as it is asked.
func (r *rig) repeats() {
	r.t.Helper()
	f := r.open()
	defer f.Close()
	read := func(from feed.Cursor) feed.Page {
		p, err := f.Read(r.t.Context(), from)
		if err != nil {
			r.t.Fatalf("Read again: %v", err)
		}
		return p
	}
	first := read("")
	second := read(first.Next)
	sameItems(r.t, "the second page, again", read(first.Next).Items, second.Items)
	sameItems(r.t, "the first page, again", read("").Items, first.Items)
}

func sameItems(t testing.TB, how string, got, want []weir.RawItem) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d items, want %d", how, len(got), len(want))
	}
	for i := range got {
		if got[i].ID != want[i].ID || string(got[i].Value) != string(want[i].Value) {
			t.Fatalf("%s: item %d = %s %s, want %s %s", how, i, got[i].ID, got[i].Value, want[i].ID, want[i].Value)
		}
	}
}

// noise is a text that does not compress, the same for the same i.
func noise(i int) string {
	rng := rand.New(rand.NewPCG(7, uint64(i)))
	return fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
}

// users makes items whose documents are like {"id":"u7","n":7,"x":"..."}.
func users(n int) []weir.RawItem {
	items := make([]weir.RawItem, n)
	for i := range items {
		id := fmt.Sprintf("u%d", i)
		items[i] = weir.RawItem{ID: id, Value: fmt.Appendf(nil, `{"id":%q,"n":%d,"x":%q}`, id, i, noise(i))}
	}
	return items
}

func isPermanent(t *testing.T, err error, code string, says ...string) {
	t.Helper()
	bad, ok := errors.AsType[*feed.PermanentError](err)
	if !ok || bad.Code != code {
		t.Fatalf("error = %v (%T), want a permanent one with code %s", err, err, code)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error = %q, want it to say %q", err, text)
		}
	}
}

func isTransient(t *testing.T, err error, wait time.Duration) {
	t.Helper()
	e, ok := errors.AsType[*feed.TransientError](err)
	if !ok || e.Wait != wait {
		t.Fatalf("error = %v (%T), want a transient one with a wait of %v", err, err, wait)
	}
}

// network dials loopback, and strikes once when so many bytes came in.
type network struct {
	mu     sync.Mutex
	left   int64
	strike func(net.Conn)
}

func (n *network) after(bytes int64, strike func(net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left, n.strike = bytes, strike
}

func (n *network) came(c net.Conn, bytes int) {
	n.mu.Lock()
	n.left -= int64(bytes)
	strike := n.strike
	if n.left > 0 {
		strike = nil
	}
	if strike != nil {
		n.strike = nil
	}
	n.mu.Unlock()
	if strike != nil {
		strike(c)
	}
}

func (n *network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: c, net: n}, nil
}

type watched struct {
	net.Conn
	net *network
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p[:min(len(p), 4<<10)]) // in small pieces, so that there is something to break
	w.net.came(w.Conn, n)
	return n, err
}
