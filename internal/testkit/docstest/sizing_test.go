package docstest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var cited = regexp.MustCompile(`\]\(([^)#]+)`)

// TestEveryFigureOfThePageOnSizingIsInItsSource wants each figure on the page that it is taken from, as it is written.
func TestEveryFigureOfThePageOnSizingIsInItsSource(t *testing.T) {
	_, rest, _ := strings.Cut(Read(t, "docs/sizing.md"), "## Figures\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	figures := 0
	for line := range strings.SplitSeq(rest, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		source := cited.FindStringSubmatch(line)
		if len(cells) != 3 || source == nil {
			continue
		}
		page := Read(t, path.Join("docs", source[1]))
		for figure := range strings.SplitSeq(cells[1], "<br>") {
			figures++
			if !strings.Contains(page, figure) {
				t.Errorf("%s does not say %q (%s)", source[1], figure, cells[0])
			}
		}
	}
	if figures < 15 {
		t.Errorf("found only %d figures", figures)
	}
}
