package main

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	linkAttribute = regexp.MustCompile(`\b(href|src|srcset)="([^"]*)"`)
	scheme        = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:|^//`)
)

// linksOf lists the links of a text in HTML.
func linksOf(text string) (all []string) {
	for _, m := range linkAttribute.FindAllStringSubmatch(text, -1) {
		all = append(all, html.UnescapeString(m[2]))
	}
	return all
}

// rewrite makes the links of a page those of the site: pages end in .html, files of docs are copied, and all other
// files are in the repository. A link that leads nowhere stays as it is, and is found by check.
func (s *site) rewrite(p *page, text string) string {
	return linkAttribute.ReplaceAllStringFunc(text, func(attribute string) string {
		m := linkAttribute.FindStringSubmatch(attribute)
		to, fragment, hasFragment := strings.Cut(html.UnescapeString(m[2]), "#")
		if to == "" || scheme.MatchString(to) {
			return attribute
		}
		at := path.Join(path.Dir(p.source), to)
		info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(at)))
		switch in := target(at); {
		case err != nil:
			return attribute
		case s.byPath[in] != nil && strings.HasSuffix(at, ".md"):
			to = path.Join(path.Dir(to), path.Base(in))
		case strings.HasPrefix(at, "docs/") && !info.IsDir():
			s.files[at] = true
		case info.IsDir():
			to = repository + "tree/main/" + at
		default:
			to = repository + "blob/main/" + at
		}
		if hasFragment {
			to += "#" + fragment
		}
		return fmt.Sprintf(`%s="%s"`, m[1], html.EscapeString(to))
	})
}

// check follows every link of every page, but for those to other sites.
func (s *site) check() (err error) {
	for _, p := range s.pages {
		for _, l := range linksOf(p.body) {
			if scheme.MatchString(l) {
				if strings.HasPrefix(l, "http") && !strings.HasPrefix(l, repository) && !strings.HasPrefix(l, "http://localhost") && !slices.Contains(s.external, l) {
					s.external = append(s.external, l)
				}
				continue
			}
			s.checked++
			if problem := s.problem(p, l); problem != "" {
				err = errors.Join(err, fmt.Errorf("%s: link to %s: %s", p.source, l, problem))
			}
		}
	}
	slices.Sort(s.external)
	return err
}

// problem says why a link leads nowhere; empty: it does not.
func (s *site) problem(p *page, link string) string {
	to, fragment, _ := strings.Cut(link, "#")
	at := path.Join(path.Dir(p.path), to)
	if to == "" {
		at = p.path
	}
	other := s.byPath[at]
	switch {
	case other == nil && !s.files[at]:
		return "no such page or file"
	case other != nil && fragment != "" && !other.ids[fragment] && !strings.Contains(other.body, `id="`+fragment+`"`):
		return "the page has no heading with this anchor"
	}
	return ""
}
