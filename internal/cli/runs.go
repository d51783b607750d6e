package cli

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

	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// run is what a later process needs to continue a run besides its bulk action: how its actions are called,
// where its report goes, and what was read. It is written before the items are accepted, under the id that the
// bulk action gets: if no bulk action has that id, nothing was accepted.
type run struct {
	ID       string                 `json:"id"`
	Input    string                 `json:"input"`
	Actions  map[string]config.Step `json:"actions"`
	Accepted bool                   `json:"accepted,omitempty"` // later, a missing bulk action has been removed
	results
	Rows int64 `json:"rows"`
	// Duplicates and Invalid are rows that did not become items.
	Duplicates int64 `json:"duplicates"`
	Invalid    int64 `json:"invalid"`
}

// results says where the results of a run are written.
type results struct {
	Report      string              `json:"report,omitempty"` // folder
	Format      config.ReportFormat `json:"report_format,omitempty"`
	SummaryJSON string              `json:"summary_json,omitempty"`
}

// runs is the folder of the runs in a data directory.
type runs struct{ dir string }

func (r runs) path(id, kind string) string { return filepath.Join(r.dir, id+kind) }

// save writes a run, all of it or nothing, and durably.
func (r runs) save(x *run) error {
	raw, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(r.path(x.ID, ".json"), append(raw, '\n'))
}

// get reads a run. It returns os.ErrNotExist if no run has that id.
func (r runs) get(id string) (*run, error) {
	raw, err := os.ReadFile(r.path(filepath.Base(id), ".json"))
	if err != nil {
		return nil, err
	}
	x := &run{}
	if err := json.Unmarshal(raw, x); err != nil {
		return nil, fmt.Errorf("%s: %w", r.path(id, ".json"), err)
	}
	return x, nil
}

// ids lists the runs, the newest first.
func (r runs) ids() ([]string, error) {
	names, err := filepath.Glob(filepath.Join(r.dir, "ba_*.json"))
	for i, n := range names {
		names[i] = strings.TrimSuffix(filepath.Base(n), ".json")
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, err
}

// remove forgets a run that never came to be.
func (r runs) remove(id string) error {
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

// rowFiles keeps the rows that did not become items until the report is written.
type rowFiles struct {
	runs  runs
	id    string
	files map[string]*rowFile
}

type rowFile struct {
	f *os.File
	w *bufio.Writer
	e *json.Encoder
}

func (r *rowFiles) duplicate(d report.Duplicate) error { return r.add(duplicateRows, d) }

func (r *rowFiles) invalid(i report.Invalid) error { return r.add(invalidRows, i) }

func (r *rowFiles) add(kind string, row any) error {
	x := r.files[kind]
	if x == nil {
		f, err := os.OpenFile(r.runs.path(r.id, kind), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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

// close makes the lists durable.
func (r *rowFiles) close() error {
	var errs []error
	for _, x := range r.files {
		errs = append(errs, x.w.Flush(), x.f.Sync(), x.f.Close())
	}
	r.files = nil
	return errors.Join(errs...)
}

// list hands the rows that were kept to the report.
func (r runs) list(id string, w *report.Writer) error {
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

// discard is rowLists for a dry run.
type discard struct{}

func (discard) duplicate(report.Duplicate) error { return nil }
func (discard) invalid(report.Invalid) error     { return nil }

// replaceFile puts content at path in one move, durably.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
