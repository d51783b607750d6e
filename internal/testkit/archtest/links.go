package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// CheckLinks wants the target of every relative link of a Markdown page to exist.
func CheckLinks(root string) ([]Violation, error) {
	var out []Violation
	err := walk(root, func(name string) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		for _, l := range links(string(text)) {
			out = append(out, checkLink(root, name, l)...)
		}
		return err
	})
	return out, err
}

func checkLink(root, page string, l link) []Violation {
	where := fmt.Sprintf("%s:%d", page, l.line)
	target := path.Join(path.Dir(page), l.target)
	if strings.HasPrefix(l.target, "/") {
		target = path.Clean(l.target[1:]) // from the top of the repository
	}
	if target == ".." || strings.HasPrefix(target, "../") {
		return []Violation{{where, "link leaves the repository: " + l.target}}
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
		return []Violation{{where, "link to a file that is not there: " + l.target}}
	}
	return nil
}

// link is a relative link of a page, without its fragment.
type link struct {
	line   int
	target string
}

var (
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?[^)]*\)`)
	namedLink  = regexp.MustCompile(`^\s{0,3}\[[^\]^]+\]:\s*<?([^\s>]+)>?`)
	htmlLink   = regexp.MustCompile(`(?:src|href|srcset)="([^"]+)"`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	scheme     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:|^//`)
)

// links finds the relative links of a Markdown text. Code is not looked at.
func links(text string) []link {
	var out []link
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		if mark := fenceMark(line); fence == "" && mark != "" {
			fence = mark
			continue
		} else if fence != "" {
			if mark == fence {
				fence = ""
			}
			continue
		}
		line = codeSpan.ReplaceAllString(line, "``")
		for _, re := range []*regexp.Regexp{inlineLink, namedLink, htmlLink} {
			for _, m := range re.FindAllStringSubmatch(line, -1) {
				if target, _, _ := strings.Cut(m[1], "#"); target != "" && !scheme.MatchString(target) {
					out = append(out, link{i + 1, target})
				}
			}
		}
	}
	return out
}

// fenceMark returns the first three characters of a line that opens or closes a code fence.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " \t>")
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}
