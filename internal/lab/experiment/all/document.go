package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/lab/experiment"
)

// The lines stand between these two in the document.
const (
	begin = "<!-- lines: begin (go run ./internal/lab/experiment/all) -->"
	end   = "<!-- lines: end -->"
)

const header = "| | Target | Measured | Seen | Wanted | Verdict |\n|---|---|---|---|---|---|\n"

// row returns a line in the table. A figure that depends on the machine has its date.
func row(e experiment.Experiment, l experiment.Line, now time.Time) string {
	seen, want, verdict := l.Cells("≤", "≥", "reached", "**missed**")
	if e.Real || l.Timed {
		seen += now.Format(" (2006-01-02)")
	}
	cells := []string{e.ID, fmt.Sprint("#", l.Target), l.What, seen, want, verdict}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", "/")
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// rewrite puts rows in the place of those that the same experiments have in the
// document; the others stay. Everything outside the two marks is left as it is.
func rewrite(path string, order []string, rows map[string][]string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	after, err := renew(string(text), order, rows)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(after), 0o644)
}

func renew(text string, order []string, rows map[string][]string) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("the lines %q and %q are missing: put them where the table is to be", begin, end)
	}
	had := map[string][]string{}
	for line := range strings.Lines(old) {
		if cells := strings.SplitN(line, "|", 3); len(cells) == 3 {
			id := strings.TrimSpace(cells[1])
			had[id] = append(had[id], strings.TrimRight(line, "\n"))
		}
	}
	var b strings.Builder
	b.WriteString(before + begin + "\n" + header)
	for _, id := range order {
		lines, fresh := rows[id]
		if !fresh {
			lines = had[id]
		}
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString(end + after)
	return b.String(), nil
}
