package webtest

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// streams counts the live pages that a server has open: it stands between the browser and the server.
type streams struct {
	mu   sync.Mutex
	open int
	ever int
}

// between starts a proxy in front of a server, and returns the server as a browser sees it.
func between(t *testing.T, s *server) (*server, *streams) {
	t.Helper()
	to, err := url.Parse(s.url(""))
	if err != nil {
		t.Fatal(err)
	}
	n := &streams{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval, proxy.ErrorLog = -1, log.New(io.Discard, "", 0) // the server is killed on purpose
	front := httptestServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui/live" {
			n.add(1)
			defer n.add(-1)
		}
		proxy.ServeHTTP(w, r)
	}))
	return &server{t: t, address: strings.TrimPrefix(front, "http://")}, n
}

func (n *streams) add(by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open += by
	n.ever += max(by, 0)
}

// until waits until a number of streams is open.
func (n *streams) until(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n.mu.Lock()
		open := n.open
		n.mu.Unlock()
		if open == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d streams are open, not %d", open, want)
		}
	}
}

// formKey returns the key of the form that copies a bulk action.
func (b *tab) formKey() (key string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`document.querySelector('form[action$="/clone"] input[name="once"]').value`, &key))
	return key
}

// TestFormsOfAPushedPartKeepTheirKeys has the part of a page with a form replaced in two tabs: each keeps its key, so that
// one that is sent twice does its work once, and the same form in the other tab does its own.
func TestFormsOfAPushedPartKeepTheirKeys(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	id := s.bulk(`{"name":"held","steps":[{"action":"award"}]}`, rows("user", 10))
	tabs := []*tab{open(t, s), open(t, s)}
	var before []string
	for _, b := range tabs {
		b.visit(s.url("/ui/bulk-actions/" + id))
		b.badge("Live")
		before = append(before, b.formKey())
	}
	s.call("POST", "/v1/bulk-actions/"+id+"/start", "", nil)
	for i, b := range tabs {
		b.see("Completed")
		if now := b.formKey(); now == "" || now != before[i] {
			t.Errorf("tab %d: the key of a form was %q and is %q after its part was replaced", i, before[i], now)
		}
	}
	if before[0] == before[1] {
		t.Errorf("two tabs share the key %q", before[0])
	}
}

// hide shows or hides the tab, as a browser does when a person looks at another one.
func (b *tab) hide(hidden bool) {
	b.t.Helper()
	b.do(chromedp.Evaluate(fmt.Sprintf(`Object.defineProperty(document, 'hidden', {configurable: true, get: () => %t})
		document.dispatchEvent(new Event('visibilitychange')), 0`, hidden), nil))
}

// badge waits until the page says how up to date it is.
func (b *tab) badge(want string) {
	b.t.Helper()
	var got string
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if b.do(chromedp.Text("#live", &got, chromedp.ByQuery)); strings.HasPrefix(got, want) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the page says %q, not %q", got, want)
		}
	}
}

// TestAPageIsLiveWhileSomebodyLooks follows the badge of a page, and the stream behind it.
func TestAPageIsLiveWhileSomebodyLooks(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	make := func(name string) {
		s.until(s.bulk(`{"name":"`+name+`","start":true,"steps":[{"action":"award"}]}`, rows("user", 10)), "completed")
	}
	make("first")
	front, n := between(t, s)
	b := open(t, front)
	b.visit(front.url("/ui/bulk-actions"))
	b.badge("Live")
	n.until(t, 1)
	make("second")
	b.see("1 new")

	b.hide(true)
	b.badge("Updates paused")
	n.until(t, 0)
	make("third")
	b.hide(false)
	b.badge("Live")
	n.until(t, 1)
	b.see("2 new")

	s.kill()
	b.badge("Trying again in")
	b.see("No connection to the server.")
	s.start()
	b.badge("Live")
	n.until(t, 1)
	b.visit(front.url("/ui/help"))
	n.until(t, 0)

	n.mu.Lock()
	before := n.ever
	n.mu.Unlock()
	b.visit(front.url("/ui/bulk-actions?live=0"))
	b.badge("Updates paused")
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ever != before {
		t.Error("a page with live=0 opens a stream")
	}
}

// TestTheAddressHoldsWhatIsShown goes back and forth between lists with filters.
func TestTheAddressHoldsWhatIsShown(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	for _, name := range []string{"spring", "summer"} {
		s.until(s.bulk(`{"name":"`+name+`","start":true,"steps":[{"action":"award"}]}`, rows("user", 10)), "completed")
	}
	b := open(t, s)
	b.visit(s.url("/ui/bulk-actions"))
	b.see("spring", "summer")
	b.fill("Words of the name", "spring")
	b.press("Apply filters")
	b.see("Clear", "spring")
	if strings.Contains(b.text(), "summer") {
		t.Errorf("the filter does nothing: %s", b.text())
	}
	b.press("spring")
	b.see("Latest events")
	b.do(chromedp.NavigateBack())
	b.see("Clear", "spring")
	var typed string
	if b.do(chromedp.Value("#f-name", &typed, chromedp.ByQuery)); typed != "spring" || strings.Contains(b.text(), "summer") {
		t.Errorf("back shows the filter %q: %s", typed, b.text())
	}
	b.do(chromedp.NavigateBack())
	b.see("summer", "spring")
	b.do(chromedp.NavigateForward())
	b.see("Clear")
}

// TestTimesAreThoseOfTheViewer looks at the same moment from two time zones.
func TestTimesAreThoseOfTheViewer(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	id := s.bulk(`{"name":"later","start_at":"2031-03-05T20:30:00Z","steps":[{"action":"award"}]}`, rows("user", 10))
	b := open(t, s)
	for zone, want := range map[string]string{"Europe/Berlin": "21:30", "America/New_York": "15:30"} {
		b.do(emulation.SetTimezoneOverride(zone))
		b.visit(s.url("/ui/help"))
		b.do(chromedp.WaitReady(fmt.Sprintf(`html[data-zone=%q]`, zone), chromedp.ByQuery))
		b.visit(s.url("/ui/bulk-actions/" + id))
		b.see("Times in " + zone)
		var text, title string
		var ok bool
		b.do(chromedp.Text(".head time", &text, chromedp.ByQuery), chromedp.AttributeValue(".head time", "title", &title, &ok, chromedp.ByQuery))
		if !strings.Contains(text, want) || title != "2031-03-05 20:30:00 UTC" {
			t.Errorf("in %s the start is %q, with the title %q", zone, text, title)
		}
	}
}
