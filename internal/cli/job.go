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
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// job holds what a later process needs to resume a run. It is
// written before the items are accepted, and gets its ID when they are.
type job struct {
	Key          string              `json:"key"` // names the files and the chain
	ID           weir.BulkID         `json:"id,omitempty"`
	Name         string              `json:"name"`
	Input        string              `json:"input"`
	Created      time.Time           `json:"created"`
	Chain        config.Chain        `json:"chain"`
	ChainKey     string              `json:"chain_key"` // the chain's name in the store
	Report       string              `json:"report,omitempty"`
	ReportFormat config.ReportFormat `json:"report_format,omitempty"`
	SummaryJSON  string              `json:"summary_json,omitempty"`
	Rows         int64               `json:"rows"`
	Duplicates   int64               `json:"duplicates"`
	Invalid      int64               `json:"invalid"`
	RetryOf      weir.BulkID         `json:"retry_of,omitempty"`
}

// newKey names a job. Later ones sort after earlier ones.
func newKey() string { return "run-" + strings.ToLower(ulid.Make().String()) }

// jobs is the folder of jobs in a data directory.
type jobs struct{ dir string }

func (j jobs) path(key, kind string) string { return filepath.Join(j.dir, key+kind) }

// save writes a job, all of it or nothing, and durably.
func (j jobs) save(x *job) error {
	raw, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(j.path(x.Key, ".json"), append(raw, '\n'))
}

// all lists the jobs, oldest first.
func (j jobs) all() ([]*job, error) {
	names, err := filepath.Glob(filepath.Join(j.dir, "run-*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var out []*job
	for _, n := range names {
		raw, err := os.ReadFile(n)
		if err != nil {
			return nil, err
		}
		x := &job{}
		if err := json.Unmarshal(raw, x); err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// remove forgets a job that never came to be.
func (j jobs) remove(key string) error {
	var errs []error
	for _, kind := range []string{".json", duplicateRows, invalidRows} {
		if err := os.Remove(j.path(key, kind)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Files beside a job that list the rows which did not become items.
const (
	duplicateRows = ".duplicates.ndjson"
	invalidRows   = ".invalid.ndjson"
)

// rowFiles keeps the rows that did not become items until the report is written.
type rowFiles struct {
	jobs  jobs
	key   string
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
		f, err := os.OpenFile(r.jobs.path(r.key, kind), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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

// listRows hands the rows that a job kept to the report.
func (j jobs) listRows(key string, w *report.Writer) error {
	err := eachRow(j.path(key, duplicateRows), func(d report.Duplicate) error {
		return w.Duplicate(d.Line, d.ID, d.FirstLine)
	})
	return errors.Join(err, eachRow(j.path(key, invalidRows), w.Invalid))
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
