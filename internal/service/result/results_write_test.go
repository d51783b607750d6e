package result

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/plain"
	"github.com/weirhq/weir/report"
)

func exportOf(list ...api.ItemResult) Export {
	return Export{Rows: func(context.Context, string) iter.Seq2[api.ItemResult, error] {
		return func(yield func(api.ItemResult, error) bool) {
			for _, x := range list {
				if !yield(x, nil) {
					return
				}
			}
		}
	}}
}

// failer is a test of either kind.
type failer interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

func table(t failer, x Export, raw bool) [][]string {
	t.Helper()
	w, err := NewRowWriter(t.Context(), x, Writing{Format: report.FormatCSV, Raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := w.WriteTo(t.Context(), &out, ""); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestColumnsAreThoseOfAllRows(t *testing.T) {
	got := table(t, exportOf(
		api.ItemResult{Item: "itm_x-0", ID: "u0", State: "done", Data: json.RawMessage(`{"id":"u0","a":1,"state":"x"}`), Output: json.RawMessage(`{"r":"9"}`)},
		api.ItemResult{Item: "itm_x-1", ID: "u1", State: "failed", Data: json.RawMessage(`{"id":"other","b":null,"c":{"d":[1]}}`), Output: json.RawMessage(`"text"`)},
		api.ItemResult{Item: "itm_x-2", ID: "u2", State: "failed", Data: json.RawMessage(`[1]`)},
	), false)
	want := [][]string{
		append(fixedCopy(), "a", "data.state", "output.r", "b", "c", "data.id", "output", "data"),
		{"itm_x-0", "", "u0", "done", "", "", "", "", "0", "", "1", "x", "9", "", "", "", "", ""},
		{"itm_x-1", "", "u1", "failed", "", "", "", "", "0", "", "", "", "", "", `{"d":[1]}`, "other", "text", ""},
		{"itm_x-2", "", "u2", "failed", "", "", "", "", "0", "", "", "", "", "", "", "", "", "[1]"},
	}
	for i := range want {
		if !equal(got[i], want[i]) {
			t.Errorf("row %d = %q, want %q", i, got[i], want[i])
		}
	}
}

func fixedCopy() []string { return append([]string(nil), fixedColumns...) }

func equal(a, b []string) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestMembersWithoutEndTakeNoColumnsWithoutEnd(t *testing.T) {
	doc := map[string]int{}
	for i := range 2 * maxColumns {
		doc["m"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676))] = i
	}
	raw, _ := json.Marshal(doc)
	got := table(t, exportOf(api.ItemResult{ID: "u", Data: raw}), false)
	var more map[string]int
	if err := json.Unmarshal([]byte(got[1][len(got[1])-1]), &more); err != nil || len(got[0]) != len(fixedColumns)+maxColumns+1 || len(more) != maxColumns {
		t.Errorf("%d columns and %d members in the last, %v; want all members somewhere", len(got[0]), len(more), err)
	}
}

// Cells are guarded as package report guards them: what one takes for a formula the other does.
func TestCellsAreGuardedAsInReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[-=+@＝＋－＠\t0-9.,"' a]{0,6}`), rapid.String()).Draw(t, "text")
		raw, err := json.Marshal(map[string]string{"x": text})
		if err != nil {
			t.Fatal(err) // every string can be written, if need be with replacements
		}
		ours := table(t, exportOf(api.ItemResult{ID: "u", Data: raw}), false)
		theirs := reportTable(t, raw)
		if a, b := ours[1][len(ours[1])-1], theirs[1][1]; a != b {
			t.Fatalf("%q is exported as %q and reported as %q", text, a, b)
		}
		if got := table(t, exportOf(api.ItemResult{ID: "u", Data: raw}), true); len(text) > 0 && plain.Formula(text) && got[1][len(got[1])-1] == ours[1][len(ours[1])-1] {
			t.Fatalf("%q is guarded in raw cells, too", text)
		}
	})
}

func reportTable(t *rapid.T, doc []byte) [][]string {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := report.NewWriter(dir, report.FormatCSV, report.Options{})
	if err == nil {
		err = w.Write(report.Row{ID: "u", State: report.StateDone, Data: doc})
	}
	if err == nil {
		err = w.Abort()
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "done.csv"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
