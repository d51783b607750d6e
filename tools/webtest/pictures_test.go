package webtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The pictures of the documentation are taken by the tests: UPDATE=1 takes them again. In any other run the tests
// compare what the pages consist of (headings, columns, fields) and the style sheet with what they were when the
// pictures were taken, so that a picture cannot show a page that has changed since.
const (
	pictureDir  = "../../docs/pages"
	pictureDoc  = "../../docs/pages.md"
	pictureList = "testdata/pictures.txt"
)

// picture is a page in the documentation: its name in the walk, and what it is for.
type picture struct{ name, title, text string }

// pictures of the demo come first, then those of the walk.
var pictures = []picture{
	{"demo overview", "Overview", "Does anything need me, and what runs?"},
	{"demo bulk action", "A bulk action", "How far it is, when it ends, and what it waits on. Every item is counted once."},
	{"demo resources", "Resources", "What each service can take, who gets how much of it, and why. A change shows its effect before it is set."},
	{"demo lanes", "Lanes", "How many workers each lane has, and each decision with its numbers."},
	{"demo failed", "Failed items", "Failures by kind, with samples: retry, discard or download them."},
	{"demo schedules", "Schedules", "What runs next, and what ran."},
	{"list", "Bulk actions", "Filters are in the address: a view can be shared as a link. Their times are in the viewer's time zone."},
	{"bulk action items", "Items of a bulk action", "Each item with its state and its attempts."},
	{"bulk action errors", "Errors", "The same fault of many items is one line."},
	{"bulk action timeline", "Timeline", "What happened to it, and who did it."},
	{"bulk action decisions", "Decisions", "Why its lanes have as many workers as they have."},
	{"bulk action rules", "Rules", "What can be changed while it runs."},
	{"bulk action report", "Report", "What became of every item, as a page and as a file."},
	{"cancel", "A question", "What cannot be undone names the exact number of items, and takes a reason."},
	{"new", "New bulk action: what it does", "A template or own steps."},
	{"new data", "New bulk action: data", "A file, a list or a source."},
	{"new mapping", "New bulk action: columns", "Which column is what, the first rows, and the rows that cannot be used."},
	{"new rules", "New bulk action: rules", "A part first, when to stop, how fast."},
	{"new forecast", "New bulk action: forecast", "When it will end, what it costs the others, and ways to start."},
	{"new trial", "New bulk action: trial", "A few items as a dry run."},
	{"items", "Items", "What happened to user 42?"},
	{"item found", "An item, found", "In all bulk actions that had it."},
	{"item", "An item", "Every attempt, with its answer."},
	{"schedule", "A schedule", "The next times, and the last runs."},
	{"schedule new", "New schedule", "The times are shown as you choose them."},
	{"effect", "The effect of a limit", "Simulated on request, before it is set."},
	{"lane pinned", "A lane", "Held by hand, until when and why."},
	{"simulator", "Simulator", "What if: rates, weights and more load, beside what is."},
	{"settings", "Settings", "What is set up."},
	{"settings actions", "Actions", "The services that bulk actions call."},
	{"edit actions/slow", "An action", "The fields are those of the API."},
	{"trial", "A test of an action", "One call with sample items, and the answer."},
	{"settings connections", "Connections", "Where lists of items come from."},
	{"settings templates", "Templates", "Bulk actions that campaign managers start."},
	{"settings webhooks", "Webhooks", "Who is told what."},
	{"webhook", "A webhook", "Its deliveries."},
	{"delivery", "A delivery", "What was sent, and the answer."},
	{"settings tenants", "Tenants", "Weights and limits."},
	{"settings keys", "API keys", "Who may do what."},
	{"key made", "A new key", "Shown once."},
	{"settings audit", "Audit", "Who did what, and when."},
	{"help", "Help", "Words, keys and commands."},
	{"error", "An error", "What is wrong, and what to do."},
}

// file returns the name of a picture's file on a screen.
func (p *picture) file(screen string) string {
	return strings.NewReplacer(" ", "-", "/", "-").Replace(strings.TrimPrefix(p.name, "demo ")) + "-" + screen + ".webp"
}

// album collects what the pages consist of that have a picture.
type album struct {
	mu   sync.Mutex
	seen map[string]string // by name
}

// look takes the pictures of a page, if it has some, or notes what it consists of.
func (a *album) look(b *tab, name string) {
	b.t.Helper()
	at := slices.IndexFunc(pictures, func(p picture) bool { return p.name == name })
	a.mu.Lock()
	_, done := a.seen[name]
	a.mu.Unlock()
	if at < 0 || done {
		return
	}
	if os.Getenv("UPDATE") == "1" { // anything else: only the list
		b.picture(&pictures[at])
	}
	parts := b.parts()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[string]string{}
	}
	a.seen[name] = parts
}

// picture takes the pictures of the page that is open: light, dark, and on a phone.
func (b *tab) picture(p *picture) {
	b.t.Helper()
	for _, screen := range []struct {
		name                 string
		width, height, scale int64
		dark                 bool
	}{{"light", 1280, 800, 1, false}, {"dark", 1280, 800, 1, true}, {"phone", 390, 844, 1, false}} {
		b.dark(screen.dark)
		b.wide(screen.width, screen.height)
		var tall int64
		b.do(chromedp.Evaluate(`scrollTo(0, 0); document.scrollingElement.scrollHeight`, &tall))
		b.wide(screen.width, min(max(tall, screen.height), 2*screen.height))
		var raw []byte
		b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			raw, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(60).Do(ctx)
			return err
		}))
		if err := os.WriteFile(filepath.Join(pictureDir, p.file(screen.name)), raw, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	b.dark(false)
	b.wide(1280, 900)
}

var digits = regexp.MustCompile(`[0-9][0-9.,:\x{a0}]*`)

// parts returns what the page consists of, without what it happens to show.
func (b *tab) parts() string {
	b.t.Helper()
	var texts []string
	b.do(chromedp.Evaluate(`[...document.querySelectorAll('main :is(h1, h2, th[scope=col], label, legend, summary)')]
		.filter(e => e.checkVisibility() && !e.querySelector('code') && !e.closest('figure, [aria-labelledby=r3]')).map(e => e.textContent.replace(/\s+/g, ' ').trim())`, &texts))
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "Throughput" }) // a chart comes with its second value, as r3 does, what a bulk action waited on
	return digits.ReplaceAllString(strings.Join(texts, " | "), "#")
}

// check fails if pages with pictures have changed since those were taken.
func (a *album) check(t *testing.T, demo bool) {
	t.Helper()
	style, err := os.ReadFile("../../internal/dashboard/assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("style sheet: %x", sha256.Sum256(style))
	raw, err := os.ReadFile(pictureList)
	if err != nil {
		t.Fatal(err)
	}
	old := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, parts, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		old[name] = parts
	}
	_, was, _ := strings.Cut(sum, ": ")
	update := os.Getenv("UPDATE") != ""
	if !update && old["style sheet"] != was {
		t.Error("the style sheet has changed since the pictures of docs/pages were taken: run these tests with UPDATE=1, look at the pictures, and commit them")
	}
	old["style sheet"] = was
	for _, p := range pictures {
		if strings.HasPrefix(p.name, "demo ") != demo {
			continue
		}
		switch now, ok := a.seen[p.name]; {
		case !ok:
			t.Errorf("no page of the walk is %q", p.name)
		case update:
			old[p.name] = now
		case now != old[p.name]:
			t.Errorf("%s has changed since its pictures were taken: run these tests with UPDATE=1, look at them, and commit them\nit was %s\nand is %s", p.name, old[p.name], now)
		}
	}
	if update {
		var b strings.Builder
		for _, name := range append([]string{"style sheet"}, names()...) {
			fmt.Fprintf(&b, "%s: %s\n", name, old[name])
		}
		if err := os.WriteFile(pictureList, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names() (all []string) {
	for i := range pictures {
		all = append(all, pictures[i].name)
	}
	return all
}

// TestThePicturesAreInTheDocumentation holds the list of the pictures, their files and the documentation together.
func TestThePicturesAreInTheDocumentation(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The pages\n\nEvery page, light, dark and on a phone. The tests take these pictures in a browser, and fail when a page has changed since\n(`UPDATE=1 go test -C tools/webtest .` takes them again). The first six show `weir dev`.\n")
	want := map[string]bool{}
	for i := range pictures {
		p := &pictures[i]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", p.title, p.text)
		for _, screen := range []struct{ name, alt string }{{"light", p.title}, {"dark", p.title + ", dark"}, {"phone", p.title + ", on a phone"}} {
			file := p.file(screen.name)
			want[file] = true
			width := map[string]string{"light": "55%", "dark": "55%", "phone": "20%"}[screen.name]
			fmt.Fprintf(&b, "<img src=\"pages/%s\" alt=\"%s\" width=\"%s\">\n", file, screen.alt, width)
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(pictureDoc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(pictureDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != b.String() {
		t.Error("docs/pages.md is not what the list of pictures makes: run this test with UPDATE=1")
	}
	files, err := os.ReadDir(pictureDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[f.Name()] {
			t.Errorf("docs/pages/%s is not a picture of the list: remove it", f.Name())
		}
		delete(want, f.Name())
	}
	for file := range want {
		t.Errorf("docs/pages/%s is missing: run these tests with UPDATE=1", file)
	}
}
