package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long the browser may take for all of it.
const patience = 3 * time.Minute

// watcher collects what a page must not do.
type watcher struct {
	mu       sync.Mutex
	host     string
	troubles []string
}

func (w *watcher) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != w.host && u.Scheme != "data" && u.Scheme != "about" {
			w.troubles = append(w.troubles, "request to "+e.Request.URL)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= http.StatusBadRequest {
			w.troubles = append(w.troubles, e.Response.StatusText+": "+e.Response.URL)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			w.troubles = append(w.troubles, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		w.troubles = append(w.troubles, e.ExceptionDetails.Error())
	}
}

// browser starts a browser that looks at a server.
func browser(t *testing.T, w *watcher) context.Context {
	t.Helper()
	program := os.Getenv("WEIR_CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	dir, err := os.MkdirTemp("", "site")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // its processes write for a moment after it has ended
		for end := time.Now().Add(10 * time.Second); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			<-time.After(50 * time.Millisecond)
		}
	})
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.UserDataDir(dir), chromedp.WSURLReadTimeout(patience))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, w.hear)
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatalf("start %s: %v; make deps installs it", program, err)
	}
	return ctx
}

// TestTheSiteInABrowser builds the site of this repository, opens two pages and searches. WEIR_SITE_PICTURES is a
// directory into which it takes pictures, to be looked at.
func TestTheSiteInABrowser(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	if _, err := Build(filepath.Join("..", ".."), out); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(server.Close)
	w := &watcher{host: strings.TrimPrefix(server.URL, "http://")}
	ctx := browser(t, w)
	do := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	wide := func(width, height int64) chromedp.Action { return chromedp.EmulateViewport(width, height) }
	var fits bool
	noScroll := chromedp.Evaluate(`document.documentElement.scrollWidth <= innerWidth`, &fits)

	do(wide(1440, 900), chromedp.Navigate(server.URL+"/"), chromedp.WaitReady("#q:not([disabled])"))
	picture(t, ctx, "desk")
	var found string
	do(chromedp.SendKeys("#q", "circuit"), chromedp.WaitVisible("#found a"),
		chromedp.Evaluate(`JSON.stringify([...document.querySelectorAll('#found a')].map(a => a.getAttribute('href')))`, &found))
	picture(t, ctx, "search")
	var hits []string
	if err := json.Unmarshal([]byte(found), &hits); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(hits, " "), "docs/scaling.html") {
		t.Errorf("the search for circuit does not find the page on scaling: %q", hits)
	}
	var at string
	do(chromedp.SendKeys("#q", "\r"), chromedp.WaitReady("article"), chromedp.Location(&at))
	for end := time.Now().Add(patience); !strings.HasSuffix(at, hits[0]) && time.Now().Before(end); {
		do(chromedp.Location(&at))
	}
	if !strings.HasSuffix(at, hits[0]) {
		t.Errorf("Enter leads to %s, want %s", at, hits[0])
	}

	do(wide(390, 844), chromedp.Navigate(server.URL+"/docs/scaling.html"), chromedp.WaitReady("#q:not([disabled])"), noScroll)
	if !fits {
		t.Error("the page on scaling is wider than a phone")
	}
	picture(t, ctx, "phone")
	do(chromedp.Click(".menu"), chromedp.WaitVisible("#nav a[aria-current]"))
	picture(t, ctx, "phone-menu")
	var inView bool
	do(chromedp.Evaluate(`(() => { const r = document.querySelector('#nav .close').getBoundingClientRect(); return r.top >= 52 && r.bottom <= innerHeight })()`, &inView))
	if !inView {
		t.Error("the menu on a phone cannot be closed: its button is not in view")
	}
	do(wide(1440, 900), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		chromedp.Navigate(server.URL+"/docs/server.html#errors"), chromedp.WaitReady("article"), noScroll)
	if !fits {
		t.Error("the guide is wider than its window")
	}
	picture(t, ctx, "dark")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, trouble := range w.troubles {
		t.Errorf("the browser reports: %s", trouble)
	}
}

func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("WEIR_SITE_PICTURES")
	if dir == "" {
		return
	}
	var raw []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&raw)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
