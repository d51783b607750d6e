package report

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestCloseRefusesWhatDoesNotAddUp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Summary)
		want   string
	}{
		{"states do not make the total", func(s *Summary) { s.Counts.Total++ }, "6 items in all states together, total is 7"},
		{"a count is negative", func(s *Summary) { s.Counts.InFlight, s.Counts.Total = -1, 5 }, "-1 is negative"},
		{"a row of done is missing", func(s *Summary) { s.Counts.Done++; s.Counts.Total++ }, "1 rows done were written, the summary has 2"},
		{"a row is in the wrong file", func(s *Summary) { s.Counts.Done, s.Counts.Cancelled = 0, 2 }, "rows"},
		{"pending rows are missing", func(s *Summary) { s.Counts.InFlight++; s.Counts.Total++ }, "2 rows pending were written, the summary has 3"},
		{"duplicates are missing", func(s *Summary) { s.Duplicates = 588 }, "2 rows duplicates were written, the summary has 588"},
		{"invalid rows are missing", func(s *Summary) { s.Invalid = 0 }, "1 rows invalid were written, the summary has 0"},
		{"error groups lack a failure", func(s *Summary) { s.Errors = s.Errors[1:] }, "1 items in all groups together, 2 failed"},
		{"a step has more items than there are", func(s *Summary) { s.Steps[0].LeftOut = 9 }, "step award"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := NewWriter(dir, FormatCSV, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := story(w); err != nil {
				t.Fatal(err)
			}
			s := storySummary()
			tt.change(&s)
			if err := w.Close(s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Close = %v, want %q", err, tt.want)
			}
			if _, ok := files(t, dir)["report.json"]; ok {
				t.Error("report.json was written all the same")
			}
		})
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out")
	for range 2 { // the second report replaces the first
		w, err := NewWriter(dir, FormatCSV, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := files(t, dir); len(got) > 1 {
			t.Errorf("files of an old report are left: %v", got)
		}
		if err := story(w); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(storySummary()); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(Row{State: StateDone}); err == nil {
			t.Error("a row was taken after Close")
		}
		if err := w.Close(storySummary()); err == nil {
			t.Error("a second summary was taken")
		}
	}
	got := files(t, dir)
	if len(got) != 8 || got["notes.txt"] != "mine" {
		t.Errorf("files = %d, want six tables, the summary and the user's own", len(got))
	}
	if runtime.GOOS == "windows" {
		return // has no such modes
	}
	for name, mode := range map[string]os.FileMode{".": 0o700, "done.csv": 0o600, "report.json": 0o600} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("mode of %s = %v, %v, want %v", name, st.Mode().Perm(), err, mode)
		}
	}
}

func TestAReportKnowsWhatItWouldReplace(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"failed.csv", "users.csv"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("id\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, dir, file string
		want            bool
	}{
		{"a file with the name of one of its own", dir, filepath.Join(dir, "failed.csv"), true},
		{"the same by another path", filepath.Join(dir, "x", ".."), filepath.Join(dir, ".", "failed.csv"), true},
		{"a file with a name of its own", dir, filepath.Join(dir, "users.csv"), false},
		{"the same name elsewhere", filepath.Join(dir, "out"), filepath.Join(dir, "failed.csv"), false},
		{"a file that is not there", dir, filepath.Join(dir, "done.csv"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Replaces(tt.dir, tt.file); got != tt.want {
				t.Errorf("Replaces(%q, %q) = %v, want %v", tt.dir, tt.file, got, tt.want)
			}
		})
	}
}

func TestAnEmptyReportHasASummaryAlone(t *testing.T) {
	got := written(t, FormatCSV, Options{}, Summary{Outcome: "all_done"}, func(*Writer) error { return nil })
	if len(got) != 1 || !strings.Contains(got["report.json"], `"error_groups": []`) || !strings.Contains(got["report.json"], "all_done") {
		t.Errorf("files = %v, want report.json alone, with empty lists", got)
	}
}

func TestRowsOfTheInputMayBeKnownByNumberAlone(t *testing.T) {
	s := Summary{Counts: weir.Counts{Total: 1, Done: 1}, Duplicates: 588, Invalid: 3}
	got := written(t, FormatCSV, Options{}, s, doneRows(Row{}))
	if !strings.Contains(got["report.json"], `"duplicates": 588`) {
		t.Errorf("report.json = %s, want 588 duplicates", got["report.json"])
	}
}

func TestErrorsStick(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWriter(dir, FormatCSV, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := w.Write(Row{State: "lost"})
	if first == nil || w.Write(Row{State: StateDone}) == nil || w.Duplicate(1, "x", 0) == nil || w.Invalid(Invalid{}) == nil {
		t.Error("rows were taken after an error")
	}
	if err := w.Close(Summary{}); err == nil || len(files(t, dir)) != 0 {
		t.Errorf("Close after an error = %v, files %v", err, files(t, dir))
	}
	if _, err := NewWriter(dir, "xlsx", Options{}); err == nil {
		t.Error("an unknown format was taken")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewWriter(file, FormatCSV, Options{}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestAbortLeavesNoSummary(t *testing.T) {
	dir := t.TempDir()
	w, err := NewWriter(dir, FormatNDJSON, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := story(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, ok := files(t, dir)["report.json"]; ok {
		t.Error("report.json is there")
	}
}

func TestDurationIsShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		90 * time.Second: "1m30s", 55*time.Minute + 48*time.Second + 123456789: "55m48s", 1412345678: "1.41s", 88123456: "88.12ms", 950: "950ns", 0: "0s",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("Duration(%d) = %s, want %s", d, got, want)
		}
	}
}
