package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	markup "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// markdown is the dialect of the pages: that of GitHub, with the same anchors. Nothing has an inline style, which the
// policy of the site forbids.
func markdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Strikethrough, extension.Linkify, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(markup.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(code{}, 100))),
	)
}

var (
	headingTag = regexp.MustCompile(`(?s)<h([1-6]) id="([^"]*)">(.*?)</h[1-6]>`)
	tag        = regexp.MustCompile(`<[^>]*>`)
	comment    = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
)

// render reads a page and makes it HTML.
func (s *site) render(p *page) error {
	raw, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(p.source)))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	ids := &anchors{taken: p.ids}
	if err := markdown().Convert(raw, &b, parser.WithContext(parser.NewContext(parser.WithIDs(ids)))); err != nil {
		return err
	}
	text := comment.ReplaceAllString(b.String(), "")
	text = headingTag.ReplaceAllStringFunc(text, func(h string) string {
		m := headingTag.FindStringSubmatch(h)
		plain := html.UnescapeString(tag.ReplaceAllString(m[3], ""))
		if m[1] == "1" {
			if p.title == "" {
				p.title = plain
			}
			return h
		}
		p.contents = append(p.contents, heading{int(m[1][0] - '0'), m[2], plain})
		return fmt.Sprintf(`<h%s id="%s">%s<a class="anchor" href="#%s" aria-label="Link to this section">#</a></h%s>`, m[1], m[2], m[3], m[2], m[1])
	})
	text = strings.ReplaceAll(text, "<table>", `<div class="scroll" tabindex="0"><table>`)
	text = strings.ReplaceAll(text, "</table>", "</table></div>")
	text = strings.ReplaceAll(text, "<img ", `<img loading="lazy" `)
	if p.title == "" {
		return fmt.Errorf("no heading")
	}
	p.body = s.rewrite(p, text)
	return nil
}

// anchors names headings as GitHub does.
type anchors struct{ taken map[string]bool }

// Generate implements parser.IDs.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	for n := 1; a.taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", b.String(), n)
	}
	a.taken[id] = true
	return []byte(id)
}

// Put implements parser.IDs.
func (a *anchors) Put(value []byte) { a.taken[string(value)] = true }

// code renders blocks of code: what is typed, and comments, can be told from the rest.
type code struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (code) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		n := node.(*ast.FencedCodeBlock)
		language := string(n.Language(source))
		fmt.Fprintf(w, `<pre tabindex="0" data-language="%s"><code>`, html.EscapeString(language))
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			_, _ = w.WriteString(codeLine(language, string(line.Value(source))))
		}
		_, err := w.WriteString("</code></pre>\n")
		return ast.WalkSkipChildren, err
	})
}

var remark = regexp.MustCompile(`(^|\s)#\s.*`)

func codeLine(language, line string) string {
	switch {
	case language == "console" && strings.HasPrefix(line, "$ "):
		return `<b>` + html.EscapeString(strings.TrimSuffix(line, "\n")) + "</b>\n"
	case language == "sh" || language == "yaml":
		if at := remark.FindStringIndex(line); at != nil {
			return html.EscapeString(line[:at[0]]) + "<i>" + html.EscapeString(strings.TrimSuffix(line[at[0]:], "\n")) + "</i>\n"
		}
	}
	return html.EscapeString(line)
}
