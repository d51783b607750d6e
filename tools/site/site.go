package main

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// repository is where links to sources lead.
const repository = "https://github.com/weirhq/weir/"

//go:embed page.html
var pageTemplate string

//go:embed assets
var assets embed.FS

// site is what is being built.
type site struct {
	root     string
	pages    []*page // in the order of the navigation
	byPath   map[string]*page
	groups   []group
	files    map[string]bool // to copy, by their path
	index    []section
	external []string
	checked  int
}

// page is a Markdown file. Paths have slashes and begin at the root of the repository.
type page struct {
	source, path string // as in docs/api.md and docs/api.html
	title        string // the first heading
	body         string
	contents     []heading
	ids          map[string]bool
}

type heading struct {
	Level    int
	ID, Text string
}

// group is a heading of the navigation with its pages.
type group struct {
	Name  string
	Pages []*page
}

// Build writes the site of a repository into a directory.
func Build(root, out string) (*site, error) {
	s := &site{root: root, byPath: map[string]*page{}, files: map[string]bool{}}
	if err := s.read(); err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		if err := s.render(p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.source, err)
		}
	}
	err := errors.Join(s.arrange(), s.check())
	if err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		s.index = append(s.index, sections(p)...)
	}
	return s, s.write(out)
}

// read finds the pages.
func (s *site) read() error {
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		for _, name := range found {
			source, err := filepath.Rel(s.root, name)
			if err != nil {
				return err
			}
			p := &page{source: filepath.ToSlash(source), ids: map[string]bool{}}
			p.path = target(p.source)
			s.pages = append(s.pages, p)
			s.byPath[p.path] = p
		}
	}
	if s.byPath["index.html"] == nil || s.byPath["docs/index.html"] == nil {
		return fmt.Errorf("%s has no README.md or no docs/README.md", s.root)
	}
	return nil
}

// target is the path of a page in the site.
func target(source string) string {
	dir, name := path.Split(source)
	if name == "README.md" {
		name = "index.md"
	}
	return dir + strings.TrimSuffix(name, ".md") + ".html"
}

// write writes pages, pictures and the index. What was there before is removed.
func (s *site) write(out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return err
	}
	for i, p := range s.pages {
		var b strings.Builder
		if err := t.Execute(&b, s.view(i)); err != nil {
			return err
		}
		if err := put(out, p.path, []byte(b.String())); err != nil {
			return err
		}
	}
	for name := range s.files {
		raw, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		if err := errors.Join(err, put(out, name, raw)); err != nil {
			return err
		}
	}
	list, err := assets.ReadDir("assets")
	for _, f := range list {
		raw, readErr := assets.ReadFile("assets/" + f.Name())
		err = errors.Join(err, readErr, put(out, "assets/"+f.Name(), raw))
	}
	raw, indexErr := json.Marshal(s.index)
	return errors.Join(err, indexErr, put(out, "assets/search.json", raw))
}

func put(out, name string, raw []byte) error {
	name = filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o644)
}

// view is what the template shows of a page.
type view struct {
	Title, Top, Source string // Top is the way to the root of the site
	Body               template.HTML
	Contents           []heading
	Groups             []navGroup
	Before, After      *navLink
}

type navGroup struct {
	Name  string
	Links []navLink
}

type navLink struct {
	Href, Label string
	Here        bool
}

func (s *site) view(i int) view {
	p := s.pages[i]
	v := view{Title: p.title, Top: strings.Repeat("../", strings.Count(p.path, "/")), Source: repository + "blob/main/" + p.source,
		Body: template.HTML(p.body)} //nolint:gosec // from the pages of the repository
	for _, h := range p.contents {
		if h.Level == 2 || h.Level == 3 && len(p.contents) < 40 {
			v.Contents = append(v.Contents, h)
		}
	}
	link := func(to *page) navLink { return navLink{v.Top + to.path, to.label(), to == p} }
	for _, g := range s.groups {
		one := navGroup{Name: g.Name}
		for _, to := range g.Pages {
			one.Links = append(one.Links, link(to))
		}
		v.Groups = append(v.Groups, one)
	}
	if i > 0 {
		before := link(s.pages[i-1])
		v.Before = &before
	}
	if i+1 < len(s.pages) {
		after := link(s.pages[i+1])
		v.After = &after
	}
	return v
}

// label is the name of a page in the navigation: its title up to a colon.
func (p *page) label() string {
	switch p.source {
	case "README.md":
		return "What weir is"
	case "docs/README.md":
		return "All pages"
	}
	label, _, _ := strings.Cut(p.title, ": ")
	if what, ok := strings.CutPrefix(label, "How to "); ok { // the group says so
		return strings.ToUpper(what[:1]) + what[1:]
	}
	return label
}

// arrange makes the navigation from docs/README.md: its headings, and the pages that are linked below each.
func (s *site) arrange() error {
	home, docs := s.byPath["index.html"], s.byPath["docs/index.html"]
	s.groups = []group{{"Start", []*page{home, docs}}}
	placed := map[*page]bool{home: true, docs: true}
	for part := range strings.SplitSeq(docs.body, "<h2 ") {
		_, name, ok := strings.Cut(part, ">")
		name, _, isHeading := strings.Cut(name, "<a class=\"anchor\"")
		if !ok || !isHeading {
			continue
		}
		g := group{Name: strings.TrimSpace(name)}
		for _, l := range linksOf(part) {
			at, _, _ := strings.Cut(l, "#")
			if p := s.byPath[path.Join("docs", at)]; p != nil && !placed[p] {
				placed[p] = true
				g.Pages = append(g.Pages, p)
			}
		}
		s.groups = append(s.groups, g)
	}
	var err error
	order := map[*page]int{}
	for _, p := range s.pages {
		if !placed[p] && strings.HasPrefix(p.source, "docs/") {
			err = errors.Join(err, fmt.Errorf("%s: docs/README.md has no link to it", p.source))
		}
	}
	for _, g := range s.groups {
		for _, p := range g.Pages {
			order[p] = len(order) + 1
		}
	}
	slices.SortStableFunc(s.pages, func(a, b *page) int { // others come last
		return cmp.Compare(cmp.Or(order[a], len(s.pages)+1), cmp.Or(order[b], len(s.pages)+1))
	})
	return err
}
