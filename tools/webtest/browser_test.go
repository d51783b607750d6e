package webtest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for something that a page should show.
const patience = 60 * time.Second

// tab is a tab of the browser, with cookies of its own. Errors of scripts, violations of the content security policy
// and requests to other hosts fail the test.
type tab struct {
	t   *testing.T
	ctx context.Context
	jar cdp.BrowserContextID // the cookies of its own

	mu       sync.Mutex
	hosts    []string // that may be asked
	troubles []string
	ignored  []string // troubles that a test expects
	pushed   int      // events that the server has pushed
}

// watch reports what a page tells of itself: violations of its policy, and payloads that ran.
func (b *tab) watch() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`
			addEventListener('securitypolicyviolation', e => __trouble('policy: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample))
			Object.defineProperty(window, '__hit', {set: n => __trouble('payload ' + n + ' ran')})`).Do(ctx)
		return err
	})
}

// open opens a tab.
func open(t *testing.T, s *server) *tab {
	t.Helper()
	id, jar := window(t)
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithTargetID(id))
	b := &tab{t: t, ctx: ctx, jar: jar, hosts: []string{s.address}}
	if err := chromedp.Run(ctx); err != nil { // the tab lives as long as the context of its first use
		t.Fatal(err)
	}
	chromedp.ListenTarget(ctx, b.hear)
	b.do(log.Enable(), network.Enable(), runtime.Enable(), audits.Enable(), runtime.AddBinding("__trouble"), b.watch(), emulation.SetTimezoneOverride("Europe/Berlin"), emulation.SetFocusEmulationEnabled(true))
	b.wide(1280, 900)
	b.visit(s.url("/ui/help")) // the first page learns the time zone of the browser, and is loaded again
	b.do(chromedp.WaitReady(`html[data-zone="Europe/Berlin"]`, chromedp.ByQuery))
	t.Cleanup(func() {
		cancel()
		for _, trouble := range b.troubles {
			if !slices.ContainsFunc(b.ignored, func(s string) bool { return strings.Contains(trouble, s) }) {
				t.Errorf("the browser reports: %s", trouble)
			}
		}
	})
	return b
}

// inBrowser does something that is about the browser, and not about one of its tabs.
func inBrowser(t *testing.T, do func(context.Context) error) {
	t.Helper()
	browser := chromedp.FromContext(chrome).Browser
	if err := chromedp.Run(chrome, chromedp.ActionFunc(func(ctx context.Context) error { return do(cdp.WithExecutor(ctx, browser)) })); err != nil {
		t.Fatal(err)
	}
}

// window opens a window with cookies of its own.
func window(t *testing.T) (id target.ID, jar cdp.BrowserContextID) {
	t.Helper()
	inBrowser(t, func(ctx context.Context) (err error) {
		if jar, err = target.CreateBrowserContext().Do(ctx); err == nil {
			id, err = target.CreateTarget("about:blank").WithBrowserContextID(jar).WithNewWindow(true).Do(ctx)
		}
		return err
	})
	return id, jar
}

// download returns the path of the file that the browser saves when a person does something.
func (b *tab) download(do func()) string {
	b.t.Helper()
	dir := b.t.TempDir()
	inBrowser(b.t, browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithBrowserContextID(b.jar).WithDownloadPath(dir).Do)
	do()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(dir, "*.csv")) // another ending until it is complete
		if err != nil {
			b.t.Fatal(err)
		}
		if len(files) == 1 {
			return files[0]
		}
	}
	b.t.Fatalf("nothing was downloaded from %s", b.where())
	return ""
}

// hear collects what must not happen.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventBindingCalled:
		b.troubles = append(b.troubles, e.Payload)
	case *audits.EventIssueAdded:
		if csp := e.Issue.Details.ContentSecurityPolicyIssueDetails; csp != nil {
			b.troubles = append(b.troubles, "policy: "+csp.ViolatedDirective+" "+csp.BlockedURL)
		}
	case *page.EventJavascriptDialogOpening:
		b.troubles = append(b.troubles, "dialog: "+e.Message)
		go func() { _ = chromedp.Run(b.ctx, page.HandleJavaScriptDialog(false)) }() // a tab that ends has no dialog
	case *network.EventEventSourceMessageReceived:
		b.pushed++
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork { // pages of refusals are answered with 4xx
			b.troubles = append(b.troubles, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError {
			b.troubles = append(b.troubles, fmt.Sprintf("console: %v", e.Args))
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Host != "" && !slices.Contains(b.hosts, u.Host) {
			b.troubles = append(b.troubles, "request to "+e.Request.URL)
		}
	}
}

// do runs actions of the browser.
func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("%v\non %s:\n%s", err, b.where(), b.text())
	}
}

// where is the address of the page.
func (b *tab) where() (at string) {
	ctx, cancel := context.WithTimeout(b.ctx, time.Second)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Location(&at)) // for a message
	return at
}

// text is what a person reads on the page; nothing while the page still arrives, so that who sees its beginning has its end.
func (b *tab) text() (text string) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Evaluate(`document.readyState === 'loading' ? '' : document.body.innerText`, &text)) // for a message
	return strings.Join(strings.Fields(text), " ")
}

// wide makes the window as wide as a desk or a phone.
func (b *tab) wide(width, height int64) { b.do(chromedp.EmulateViewport(width, height)) }

// dark sets the theme that the system prefers.
func (b *tab) dark(on bool) {
	value := "light"
	if on {
		value = "dark"
	}
	b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}))
}

// visit opens a page.
func (b *tab) visit(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address), chromedp.WaitReady("main"))
}

// see waits until the page shows texts.
func (b *tab) see(texts ...string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for _, want := range texts {
		for got := b.text(); !strings.Contains(got, want); got = b.text() {
			if time.Now().After(deadline) {
				b.t.Fatalf("%s does not show %q:\n%s", b.where(), want, got)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// press clicks the button or link with a text; the page that follows is loaded when it returns.
func (b *tab) press(text string) {
	b.t.Helper()
	path := fmt.Sprintf("//main//*[self::button or self::a or self::summary][contains(translate(normalize-space(.), '\u00a0', ' '), %s)]", xpathText(text))
	b.do(chromedp.WaitVisible(path, chromedp.BySearch), chromedp.Click(path, chromedp.BySearch))
}

// fill types into the field with a label.
func (b *tab) fill(label, value string) {
	b.t.Helper()
	id := b.field(label)
	b.do(chromedp.Evaluate(`document.getElementById(`+quote(id)+`).value = ''`, nil), chromedp.SendKeys("#"+id, value, chromedp.ByQuery))
}

// choose selects in the field with a label.
func (b *tab) choose(label, value string) {
	b.t.Helper()
	b.do(chromedp.SetValue("#"+b.field(label), value, chromedp.ByQuery))
}

// field returns the id of the field with a label.
func (b *tab) field(label string) (id string) {
	b.t.Helper()
	script := fmt.Sprintf(`[...document.querySelectorAll('label')].find(l => l.textContent.includes(%s) && l.htmlFor)?.htmlFor ?? ''`, quote(label))
	deadline := time.Now().Add(patience)
	for id == "" {
		b.do(chromedp.Evaluate(script, &id))
		if time.Now().After(deadline) {
			b.t.Fatalf("%s has no field %q:\n%s", b.where(), label, b.text())
		}
	}
	return id
}

//go:embed testdata/axe.min.js
var axe string

// accessible fails unless axe-core, which the page has to have, finds nothing wrong with it. rules are those to check;
// empty: all.
func (b *tab) accessible(what, rules string) {
	b.t.Helper()
	var found string
	options := `{resultTypes: ['violations'], preload: false}`
	if rules != "" {
		options = `{resultTypes: ['violations'], preload: false, runOnly: {type: 'rule', values: ` + quote(rules) + `.split(' ')}}`
	}
	script := `axe.run(document, ` + options + `).then(r => JSON.stringify(r.violations.map(v =>
		v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 3).map(n => '  ' + n.html.slice(0, 200) + '\n    ' + n.failureSummary.replaceAll('\n', ' ')).join('\n'))))`
	b.do(chromedp.Evaluate(script, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	var violations []string
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("%s: %s", what, v)
	}
}

// quote writes a text as one of JavaScript.
func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text
	}
	return string(raw)
}

// xpathText writes a text as one of XPath, which knows no escapes.
func xpathText(s string) string {
	if !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	return `concat('` + strings.ReplaceAll(s, `'`, `', "'", '`) + `')`
}
