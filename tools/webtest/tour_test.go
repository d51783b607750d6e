package webtest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestTheTourIsAccessibleAndCanBeClosed(t *testing.T) {
	s := begin(t, t.TempDir(), "dev", "--part", "100")
	b := open(t, s)
	for _, path := range []string{"/ui/", "/ui/resources?of=demo.push", "/ui/lanes", "/ui/failed", s.first(t)} {
		b.visit(s.url(path))
		b.see("Close the tour")
		b.loadAxe()
		for _, screen := range append(screens, screen{"margin", 1440, 900, false, ""}, screen{"narrow", 1024, 900, false, ""}) {
			b.wide(screen.width, screen.height)
			b.dark(screen.dark)
			b.accessible(screen.name+" "+path, screen.rules)
			b.fits(screen.name + " " + path)
		}
		b.dark(false)
	}
	b.visit(s.url("/ui/"))
	b.press("Close the tour")
	b.see("Show the tour")
	b.loadAxe()
	b.accessible("without the tour", "")
	b.do(chromedp.Click(".foot .link", chromedp.ByQuery))
	b.see("Close the tour")
}

// TestTheDemoShowsItself takes the pictures of pages that move.
func TestTheDemoShowsItself(t *testing.T) {
	s := begin(t, t.TempDir(), "dev")
	b := open(t, s)
	b.visit(s.url("/ui/"))
	b.press("Close the tour")
	b.see("Show the tour", "Delivery texts", "New price list", "Approve the rest")
	if os.Getenv("UPDATE") == "1" {
		time.Sleep(75 * time.Second) // for charts that one can look at
	}
	var pictures album
	b.wide(1280, 900)
	for _, page := range []struct{ name, path, shows string }{ // what a demo that has just begun does not have yet
		{"overview", "/ui/", "Needs attention"},
		{"bulk action", s.first(t), "Attempts per item"},
		{"resources", "/ui/resources?of=demo.push", "Entitled"},
		{"lanes", "/ui/lanes", "Last decision"},
		{"failed", "/ui/failed", "Attempts"},
		{"schedules", "/ui/schedules", "Next"},
	} {
		b.visit(s.url(page.path))
		b.see(page.shows)
		and := "?"
		if strings.Contains(page.path, "?") {
			and = "&"
		}
		b.visit(s.url(page.path + and + "live=0"))
		pictures.look(b, "demo "+page.name)
	}
	pictures.check(t, true)
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
