package spec

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/report"
)

// Skipped is [RowLists] for a command that writes no report: it keeps the first invalid rows for the screen, and writes
// all rows that do not become items to a file, if one is named.
type Skipped struct {
	Path  string // empty: no file
	shown []string
	bad   int64
	file  *os.File
	to    *bufio.Writer
}

// shownSkipped limits how many skipped rows are printed.
const shownSkipped = 5

// Duplicate implements [RowLists].
func (s *Skipped) Duplicate(d report.Duplicate) error { return s.write(d) }

// Invalid implements [RowLists].
func (s *Skipped) Invalid(r report.Invalid) error {
	if s.bad++; s.bad <= shownSkipped {
		s.shown = append(s.shown, fmt.Sprintf("  skipped   line %d: %s", r.Line, r.Problem))
	}
	return s.write(r)
}

func (s *Skipped) write(row any) (err error) {
	if s.Path == "" {
		return nil
	}
	if s.file == nil {
		if s.file, err = os.OpenFile(s.Path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("--skipped: %w", err)
		}
		s.to = bufio.NewWriter(s.file)
	}
	return json.NewEncoder(s.to).Encode(row)
}

// Close ends the file.
func (s *Skipped) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.to.Flush(), s.file.Close())
}

// Lines tells the first invalid rows, and where the rest is listed.
func (s *Skipped) Lines(file string) []string {
	more := s.bad - int64(len(s.shown))
	switch {
	case file != "" && s.file != nil:
		return append(s.shown, "  skipped   all rows that were left out are in "+file)
	case more > 0:
		return append(s.shown, fmt.Sprintf("  skipped   %s more; --skipped FILE lists all", term.Plural(more, "row", "rows")))
	}
	return s.shown
}
