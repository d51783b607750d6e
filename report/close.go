package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Close ends the files and then writes report.json: completely or not at all, and on disk when
// Close returns. It fills in the list of files. It refuses a summary that does not agree with
// the rows written, and anything after an error of an earlier call.
func (w *Writer) Close(s Summary) error {
	err := w.err
	if err == nil {
		err = w.check(&s)
	}
	s.Files = w.files()
	if err := errors.Join(err, w.closeFiles()); err != nil {
		return err
	}
	content, err := s.encode()
	if err != nil {
		return fmt.Errorf("write %s: %w", summaryFile, err)
	}
	if err := replace(filepath.Join(w.dir, summaryFile), content); err != nil {
		return fmt.Errorf("write %s: %w", summaryFile, err)
	}
	return nil
}

// Abort ends the files without a summary.
func (w *Writer) Abort() error { return w.closeFiles() }

// rows returns the number of rows of a file.
func (w *Writer) rows(k kind) int {
	switch {
	case w.tables[k] != nil:
		return w.tables[k].count()
	case w.streams[k] != nil:
		return w.streams[k].count()
	}
	return 0
}

// check compares the summary with itself and with the rows.
func (w *Writer) check(s *Summary) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("report does not add up: %w", err)
	}
	c := s.ofRows()
	for k, want := range map[kind]int64{
		doneFile: c.Done, failedFile: c.Failed, cancelledFile: c.Cancelled, pendingFile: c.Pending(),
		duplicatesFile: s.Duplicates, invalidFile: s.Invalid,
	} {
		got := int64(w.rows(k))
		if got == 0 && (k == duplicatesFile || k == invalidFile) {
			continue // an earlier process may have read the input and left only the number
		}
		if got != want {
			return fmt.Errorf("report does not add up: %d rows %s were written, the summary has %d", got, names[k], want)
		}
	}
	return nil
}

func (w *Writer) files() []File {
	var all []File
	for k := range kinds {
		if n := w.rows(k); n > 0 {
			all = append(all, File{Name: names[k] + "." + string(w.format), Rows: n})
		}
	}
	return all
}

func (w *Writer) closeFiles() error {
	var errs []error
	for k := range kinds {
		if t := w.tables[k]; t != nil {
			errs = append(errs, t.close())
		}
		if s := w.streams[k]; s != nil {
			errs = append(errs, s.close())
		}
	}
	w.tables, w.streams, w.err = [kinds]*table{}, [kinds]*stream{}, errClosed
	return errors.Join(errs...)
}

var errClosed = errors.New("report is closed")

// replace writes content to path atomically and durably.
func replace(path string, content []byte) error {
	tmp := path + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes new names durable. Windows cannot, and does not need to.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
