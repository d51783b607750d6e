package local

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// Run is what a later process needs to continue a run besides its bulk action: how its actions are called,
// where its report goes, and what was read. It is written before the items are accepted, under the id that the
// bulk action gets: if no bulk action has that id, nothing was accepted.
type Run struct {
	ID       string                 `json:"id"`
	Input    string                 `json:"input"`
	Actions  map[string]config.Step `json:"actions"`
	Accepted bool                   `json:"accepted,omitempty"` // later, a missing bulk action has been removed
	Results
	Rows int64 `json:"rows"`
	// Duplicates and Invalid are rows that did not become items.
	Duplicates int64 `json:"duplicates"`
	Invalid    int64 `json:"invalid"`
}

// Runs is the folder of the runs in a data directory.
type Runs struct{ dir string }

func (r Runs) path(id, kind string) string { return filepath.Join(r.dir, id+kind) }

// Save writes a run, all of it or nothing, and durably.
func (r Runs) Save(x *Run) error {
	raw, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return command.ReplaceFile(r.path(x.ID, ".json"), append(raw, '\n'))
}

// Get reads a run. It returns os.ErrNotExist if no run has that id.
func (r Runs) Get(id string) (*Run, error) {
	raw, err := os.ReadFile(r.path(filepath.Base(id), ".json"))
	if err != nil {
		return nil, err
	}
	x := &Run{}
	if err := json.Unmarshal(raw, x); err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(id, ".json"), err)
	}
	return x, nil
}

// Ids lists the runs, the newest first.
func (r Runs) Ids() ([]string, error) {
	names, err := filepath.Glob(filepath.Join(r.dir, "ba_*.json"))
	for i, n := range names {
		names[i] = strings.TrimSuffix(filepath.Base(n), ".json")
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, err
}

// Remove forgets a run that never came to be.
func (r Runs) Remove(id string) error {
	var errs []error
	for _, kind := range []string{".json", duplicateRows, invalidRows} {
		if err := os.Remove(r.path(id, kind)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Files beside a run that list the rows which did not become items.
const (
	duplicateRows = ".duplicates.ndjson"
	invalidRows   = ".invalid.ndjson"
)

// RowFiles keeps the rows that did not become items until the report is written.
type RowFiles struct {
	Runs  Runs
	Id    string
	files map[string]*rowFile
}

type rowFile struct {
	f *os.File
	w *bufio.Writer
	e *json.Encoder
}

// Duplicate keeps a row whose id came before.
func (r *RowFiles) Duplicate(d report.Duplicate) error { return r.add(duplicateRows, d) }

// Invalid keeps a row that is not an item.
func (r *RowFiles) Invalid(i report.Invalid) error { return r.add(invalidRows, i) }

func (r *RowFiles) add(kind string, row any) error {
	x := r.files[kind]
	if x == nil {
		f, err := os.OpenFile(r.Runs.path(r.Id, kind), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(f)
		x = &rowFile{f, w, json.NewEncoder(w)}
		if r.files == nil {
			r.files = map[string]*rowFile{}
		}
		r.files[kind] = x
	}
	return x.e.Encode(row)
}

// Close makes the lists durable.
func (r *RowFiles) Close() error {
	var errs []error
	for _, x := range r.files {
		errs = append(errs, x.w.Flush(), x.f.Sync(), x.f.Close())
	}
	r.files = nil
	return errors.Join(errs...)
}

// List hands the rows that were kept to the report.
func (r Runs) List(id string, w *report.Writer) error {
	err := eachRow(r.path(id, duplicateRows), func(d report.Duplicate) error {
		return w.Duplicate(d.Line, d.ID, d.FirstLine)
	})
	return errors.Join(err, eachRow(r.path(id, invalidRows), w.Invalid))
}

func eachRow[T any](path string, do func(T) error) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var row T
		switch err := d.Decode(&row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := do(row); err != nil {
			return err
		}
	}
}
