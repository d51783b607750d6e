package main

import (
	"html"
	"slices"
	"strings"
)

// section is what the search finds: a heading with the text below it.
type section struct {
	Path    string `json:"p"` // from the root of the site, with the anchor
	Page    string `json:"t"`
	Heading string `json:"h"` // empty: the beginning of the page
	Text    string `json:"x"`
	History bool   `json:"s,omitempty"` // why and when it became so: found after what tells how it is
}

// history lists the pages about what was done.
var history = []string{"CHANGELOG.md", "docs/decisions.md", "docs/experiments.md"}

// longest bounds the text of a section in the index. It is for snippets, too.
const longest = 6000

// sections cuts a page at its headings.
func sections(p *page) (all []section) {
	old := slices.Contains(history, p.source)
	one := section{Path: p.path, Page: p.title, History: old}
	rest := p.body
	for _, h := range append(p.contents, heading{}) {
		before, after, found := strings.Cut(rest, ` id="`+h.ID+`">`)
		if h.ID == "" || !found {
			before, after = rest, ""
		}
		if one.Text = plainText(before); one.Text != "" || one.Heading != "" {
			all = append(all, one)
		}
		one = section{Path: p.path + "#" + h.ID, Page: p.title, Heading: h.Text, History: old}
		if _, after, found = strings.Cut(after, "</h"); found {
			rest = after[min(2, len(after)):]
		}
	}
	return all
}

// plainText is what a person reads.
func plainText(text string) string {
	if i := strings.LastIndexByte(text, '<'); i >= 0 && !strings.Contains(text[i:], ">") { // the heading that follows
		text = text[:i]
	}
	text = html.UnescapeString(tag.ReplaceAllString(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return text
}
