package webtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

type screen struct {
	name          string
	width, height int64
	dark          bool
	rules         string // of axe; empty: all
}

// screens are the ways in which people see pages. The theme changes colours and nothing else, so that in the dark
// only the rules about colours are checked again.
var screens = []screen{{"light", 1280, 900, false, ""}, {"dark", 1280, 900, true, "color-contrast link-in-text-block"}, {"dark phone", 390, 844, true, "color-contrast link-in-text-block"}, {"phone", 390, 844, false, ""}}

// TestEveryPageIsAccessible walks all pages, and looks at each on every screen.
func TestEveryPageIsAccessible(t *testing.T) {
	s := makeScene(t)
	var mu sync.Mutex
	var walked []string
	var pictures album
	s.walk(t, func(b *tab, p place) {
		mu.Lock()
		walked = append(walked, b.where())
		mu.Unlock()
		pictures.look(b, p.name)
		b.onEveryScreen(p.name)
	})
	covers(t, walked)
	pictures.check(t, false)
}

// walk opens all pages, in a few tabs at once.
func (s *scene) walk(t *testing.T, look func(*tab, place)) {
	t.Helper()
	const tabs = 2
	pages := s.pages()
	t.Run("pages", func(t *testing.T) {
		for first := range tabs {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				b := open(t, s.server)
				for i := first; i < len(pages); i += tabs {
					p := pages[i]
					b.wide(1280, 900)
					b.visit(s.url(p.path))
					if p.do != nil {
						p.do(b)
					}
					look(b, p)
				}
			})
		}
	})
}

// onEveryScreen fails unless the page is accessible, and not wider than the window, in all screens.
func (b *tab) onEveryScreen(what string) {
	b.t.Helper()
	b.loadAxe()
	for _, screen := range screens {
		b.wide(screen.width, screen.height)
		b.dark(screen.dark)
		b.accessible(screen.name+" "+what, screen.rules)
		b.fits(screen.name + " " + what)
	}
	b.hasIDsOnce(what)
}

// loadAxe gives the page what accessible needs.
func (b *tab) loadAxe() { b.do(chromedp.Evaluate(axe+";0", nil)) }

// hasIDsOnce fails if two elements have the same id, or a label is for something that cannot be filled in.
func (b *tab) hasIDsOnce(what string) {
	b.t.Helper()
	var bad []string
	b.do(chromedp.Evaluate(`(() => {
		const ids = [...document.querySelectorAll('[id]')].map(e => e.id)
		const twice = ids.filter((id, i) => ids.indexOf(id) !== i).map(id => 'two elements have the id ' + id)
		const lost = [...document.querySelectorAll('label')].filter(l => !l.control).map(l => 'no field has the label ' + l.textContent)
		return [...twice, ...lost]
	})()`, &bad))
	for _, text := range bad {
		b.t.Errorf("%s (%s): %s", what, b.where(), text)
	}
}

// fits fails if the page is wider than the window: then people have to scroll sideways to read a line.
func (b *tab) fits(what string) {
	b.t.Helper()
	var wide string
	b.do(chromedp.Evaluate(`(() => {
		const over = document.scrollingElement.scrollWidth - innerWidth
		if (over <= 1) return ''
		const wide = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.nav'))
		return over + ' px: ' + wide.slice(0, 6).map(e => e.outerHTML.slice(0, 120)).join('\n')
	})()`, &wide))
	if wide != "" {
		b.t.Errorf("%s (%s) is wider than the window by %s", what, b.where(), wide)
	}
}

// covers fails unless addresses cover every page that the dashboard registers.
func covers(t *testing.T, addresses []string) {
	t.Helper()
	mux, walked := http.NewServeMux(), map[string]bool{}
	for _, r := range routes(t) {
		pattern := "GET /ui" + r.path
		if _, known := walked[pattern]; !known && (r.by == "page" || r.by == "sheet") {
			walked[pattern] = false
			mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
		}
	}
	for _, at := range addresses {
		_, pattern := mux.Handler(httptest.NewRequest(http.MethodGet, at, nil))
		walked[pattern] = true
	}
	for pattern, yes := range walked {
		if !yes {
			t.Errorf("no page of the walk is %s: add one to scene.pages", pattern)
		}
	}
}
