package webtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keys types on the keyboard, wherever the focus is. A key that a page takes for itself writes nothing, as on a real keyboard.
func (b *tab) keys(text string) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		for _, r := range text {
			events := kb.Encode(r)
			for i, e := range events {
				switch {
				case e.Type == input.KeyChar:
					continue // is part of pressing the key
				case i+1 < len(events) && events[i+1].Type == input.KeyChar:
					e.Type, e.Text, e.UnmodifiedText = input.KeyDown, events[i+1].Text, events[i+1].UnmodifiedText
				}
				if err := e.Do(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// focused returns the name of the element with the focus, as a screen reader says it.
func (b *tab) focused() (name string) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		element, _, err := runtime.Evaluate("document.activeElement === document.body ? null : document.activeElement").Do(ctx)
		if err != nil || element.ObjectID == "" {
			return err
		}
		nodes, err := accessibility.GetPartialAXTree().WithObjectID(element.ObjectID).WithFetchRelatives(false).Do(ctx)
		if err == nil && len(nodes) > 0 && nodes[0].Name != nil {
			name = strings.Trim(string(nodes[0].Name.Value), `"`)
		}
		return err
	}))
	return strings.ReplaceAll(name, "\u00a0", " ")
}

// mostTabs is after how many presses of Tab a person gives up.
const mostTabs = 120

// reach presses Tab until an element has the focus whose name begins with a text. Every stop on the way has to be seen.
func (b *tab) reach(name string) {
	b.t.Helper()
	var passed []string
	for range mostTabs {
		b.keys(kb.Tab)
		b.focusIsSeen()
		at := b.focused()
		if strings.HasPrefix(at, name) {
			return
		}
		passed = append(passed, at)
	}
	b.t.Fatalf("Tab does not lead to %q on %s, but to %q", name, b.where(), passed)
}

// focusIsSeen fails unless the element with the focus has a ring, and is in the window with nothing over it.
func (b *tab) focusIsSeen() {
	b.t.Helper()
	var wrong string
	b.do(chromedp.Evaluate(`(() => {
		const at = document.activeElement
		if (!at || at === document.body) return ''
		const says = text => text + ': ' + at.outerHTML.slice(0, 160)
		const style = getComputedStyle(at)
		if ((style.outlineStyle === 'none' || parseFloat(style.outlineWidth) === 0) && style.boxShadow === 'none') return says('has the focus and no ring')
		const box = [...at.getClientRects()].find(r => r.width > 0 && r.height > 0)
		if (!box) return says('has the focus and no size')
		const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth)
		const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight)
		if (left >= right || top >= bottom) return says('has the focus outside of the window')
		const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
		if (at.contains(over) || [...(at.labels ?? [])].some(l => l.contains(over))) return ''
		return says('has the focus under ' + over?.outerHTML.slice(0, 80))
	})()`, &wrong))
	if wrong != "" {
		b.t.Errorf("%s: %s", b.where(), wrong)
	}
}

// enter reaches an element and presses Enter there.
func (b *tab) enter(name string) {
	b.t.Helper()
	b.reach(name)
	b.keys(kb.Enter)
}

// TestACampaignByKeyboardAlone is the way of a campaign manager without a mouse.
func TestACampaignByKeyboardAlone(t *testing.T) {
	const good = 24
	s, d := serve(t), service(t)
	failing := true
	d.fails = func(path, id string) string {
		if failing && path == "/award" && strings.HasSuffix(id, "7") {
			return "account " + id + " is closed"
		}
		return ""
	}
	for _, name := range []string{"award", "message"} {
		s.call("PUT", "/v1/actions/"+name, fmt.Sprintf(`{"url":"%s/%s","batch":2}`, d.URL, name), nil)
	}
	b := open(t, s)
	b.visit(s.url("/ui/"))
	b.keys(kb.Tab)
	if at := b.focused(); at != "Skip to content" {
		t.Errorf("the first stop of Tab is %q", at)
	}
	b.keys(kb.Enter)
	b.enter("New bulk action")
	b.see("Name and owner")
	b.reach("First")
	b.keys("awa")
	b.reach("Then")
	b.keys("mes")
	b.reach("Name")
	b.keys("spring-reward")
	b.enter("Continue to data")
	b.see("A file")
	b.reach("Rows")
	b.keys("user_id,amount")
	for i := range good {
		b.keys(kb.Enter + fmt.Sprintf("user-%d,%d", i, i*100))
	}
	b.enter("Use these rows")
	b.see("Match columns", fmt.Sprintf("Continue with %d", good))
	b.enter("Continue with")
	b.see("Run a part first")
	b.enter("Continue to the forecast")
	b.see("Ways to start")
	b.enter("Start canary of")
	b.see("Awaiting approval")
	s.call("PUT", "/v1/resources/award", `{"rate":"2/s"}`, nil)
	b.reach("Approve the rest")
	b.keys(" ")
	b.see("The rest was approved", "Pause")
	b.keys("p")
	if at := b.focused(); at != "Pause" {
		t.Errorf("p leads to %q", at)
	}
	b.focusIsSeen()
	b.keys(kb.Enter)
	b.see("Paused.", "Resume")
	s.call("PUT", "/v1/resources/award", `{"rate":"unlimited"}`, nil)
	b.keys("p" + kb.Enter)
	b.see("Resumed.", "Completed", "100 %", "Adds up")
	b.enter("Errors")
	b.see("2 items in 1 group")
	d.set(func(*downstream) { failing = false })
	b.enter("Retry 2")
	b.see("retried, as a bulk action of their own", "Completed")
	b.keys("ga")
	b.see("Apply filters", "spring-reward")
	b.keys("jj")
	b.focusIsSeen()
	b.keys(kb.Enter)
	b.see("Latest events", "2 items failed")
	b.enter("Report")
	b.see("after retries, 2 before")
	b.reach("Download all.csv")
	compare(t, d, b.download(func() { b.keys(kb.Enter) }), good, 2)
}

// TestShortcutsOfTheKeyboard presses every key that the help lists, and sees that they are off while a person types.
func TestShortcutsOfTheKeyboard(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	id := s.bulk(`{"name":"spring","start":true,"steps":[{"action":"award"}]}`, rows("user", 10))
	s.until(id, "completed")
	b := open(t, s)
	for keys, path := range map[string]string{"go": "/ui/", "ga": "/ui/bulk-actions", "gi": "/ui/items", "gd": "/ui/failed", "gs": "/ui/schedules",
		"gr": "/ui/resources", "gp": "/ui/lanes", "n": "/ui/new", "?": "/ui/help"} {
		b.visit(s.url("/ui/simulator"))
		b.keys(keys)
		b.arrives(s.url(path))
	}
	b.visit(s.url("/ui/bulk-actions"))
	b.keys("/")
	if at := b.focused(); at != "Find an item or a bulk action" {
		t.Errorf("/ leads to %q", at)
	}
	const typed = "go?n/gaj"
	for _, field := range []string{"#find", "#f-ten", "#f-name"} {
		b.do(chromedp.Focus(field, chromedp.ByQuery))
		b.keys(typed)
		var value string
		if b.do(chromedp.Value(field, &value, chromedp.ByQuery)); value != typed || b.where() != s.url("/ui/bulk-actions") {
			t.Errorf("%s has %q on %s after %q was typed", field, value, b.where(), typed)
		}
		b.keys(kb.Escape)
		if at := b.focused(); at != "" {
			t.Errorf("Esc leaves %s for %q", field, at)
		}
	}
	b.keys("jk")
	if at := b.focused(); at != "spring" {
		t.Errorf("j leads to %q", at)
	}
	b.keys(kb.Enter)
	b.see("Latest events")
	b.enter("More")
	b.see("Copy as a new draft")
	b.keys(kb.Escape)
	if at, text := b.focused(), b.text(); at != "More" || strings.Contains(text, "Copy as a new draft") {
		t.Errorf("Esc in a menu leads to %q", at)
	}
}

// arrives waits until the page has an address.
func (b *tab) arrives(at string) {
	b.t.Helper()
	for end := time.Now().Add(patience); b.where() != at; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("the page is %s, not %s", b.where(), at)
		}
	}
	b.do(chromedp.WaitReady("main"))
}
