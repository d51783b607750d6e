package webtest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestTheTourIsAccessibleAndCanBeClosed(t *testing.T) {
	s := begin(t, t.TempDir(), "dev", "--part", "100")
	b := open(t, s)
	for _, screen := range []struct {
		name          string
		width, height int64
		dark          bool
	}{{"margin", 1440, 900, false}, {"dark", 1440, 900, true}, {"below", 1024, 900, false}, {"phone", 390, 844, false}} {
		b.wide(screen.width, screen.height)
		b.dark(screen.dark)
		for _, path := range []string{"/ui/", "/ui/resources?of=demo.push", "/ui/lanes", "/ui/failed", s.first(t)} {
			b.visit(s.url(path))
			b.see("Close the tour")
			b.accessible(screen.name + " " + path)
		}
	}
	b.visit(s.url("/ui/"))
	b.press("Close the tour")
	b.see("Show the tour")
	b.accessible("without the tour")
	b.do(chromedp.Click(".foot .link", chromedp.ByQuery))
	b.see("Close the tour")
}

// first returns the page of a bulk action of the demo.
func (s *server) first(t *testing.T) string {
	t.Helper()
	var list struct{ Data []struct{ ID, Name string } }
	s.call("GET", "/v1/bulk-actions", "", &list)
	for _, b := range list.Data {
		if strings.HasPrefix(b.Name, "Winter") {
			return "/ui/bulk-actions/" + b.ID
		}
	}
	t.Fatalf("no flood in %v", list)
	return ""
}
