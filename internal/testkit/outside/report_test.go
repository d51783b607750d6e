package outside

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/report"
)

func TestAReportOfOnesOwnRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	w, err := report.NewWriter(dir, report.FormatCSV, report.Options{BOM: true})
	ok(t, err)
	ok(t, w.Write(report.Row{ID: "a", State: report.StateDone, Data: []byte(`{"n":1}`)}))
	ok(t, w.Duplicate(3, "a", 1))
	ok(t, w.Invalid(report.Invalid{Line: 4, Code: "bad_csv", Problem: "a quote is missing"}))
	sum := report.Summary{State: "completed", Counts: weir.Counts{Total: 1, Done: 1}, Duplicates: 1, Invalid: 1}
	ok(t, sum.Check())
	ok(t, w.Close(sum))
	if !report.Replaces(dir, filepath.Join(dir, "done.csv")) {
		t.Error("a report would not replace its own file")
	}
	if w, err = report.NewWriter(dir, report.FormatNDJSON, report.Options{}); err != nil {
		t.Fatal(err)
	}
	ok(t, w.Write(report.Row{ID: "a", State: report.StateFailed}))
	ok(t, w.Abort())
	if _, err := os.Stat(filepath.Join(dir, "report.json")); err == nil {
		t.Error("a report that was given up has a summary")
	}
}

func TestDurationsAreReadBack(t *testing.T) {
	d := report.Duration(90 * time.Second)
	text, err := d.MarshalText()
	ok(t, err)
	var back report.Duration
	if ok(t, back.UnmarshalText(text)); back != d || d.String() != "1m30s" {
		t.Errorf("%v is read back as %v", d, back)
	}
}
