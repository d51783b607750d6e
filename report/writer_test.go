package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhq/weir"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// written lets fill write a report and returns its files by name.
func written(t *testing.T, f Format, o Options, s Summary, fill func(*Writer) error) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	w, err := NewWriter(dir, f, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(s); err != nil {
		t.Fatal(err)
	}
	return files(t, dir)
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(content)
	}
	return got
}

func doneRows(rows ...Row) func(*Writer) error {
	return func(w *Writer) error {
		for i, r := range rows {
			if r.State = StateDone; r.ID == "" {
				r.ID = fmt.Sprint("u", i+1)
			}
			if err := w.Write(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// allDone is the summary of n items that are all done.
func allDone(n int) Summary {
	return Summary{Counts: weir.Counts{Total: int64(n), Done: int64(n)}}
}

func TestDoneCSV(t *testing.T) {
	doc := func(data, output string) Row { return Row{Data: []byte(data), Output: []byte(output)} }
	for _, tt := range []struct {
		name string
		o    Options
		rows []Row
		want string
	}{
		{
			"members become columns, outputs follow",
			Options{},
			[]Row{doc(`{"name":"Anna","amount":500}`, `{"reward_id":"r1"}`), doc(`{"name":"Bob","amount":7}`, `{"reward_id":"r2"}`)},
			"id,name,amount,output.reward_id\nu1,Anna,500,r1\nu2,Bob,7,r2\n",
		},
		{"another order of members does not matter", Options{}, []Row{doc(`{"a":1,"b":2}`, ""), doc(`{"b":2,"a":1}`, "")}, "id,a,b\nu1,1,2\nu2,1,2\n"},
		{
			"values stand as people write them",
			Options{},
			[]Row{doc(`{"t":"a \"b\", ü","n":9007199254740993,"f":1.50,"y":true,"z":null,"o":{"x":[1, 2]},"l":[]}`, "")},
			"id,t,n,f,y,z,o,l\nu1,\"a \"\"b\"\", ü\",9007199254740993,1.50,true,,\"{\"\"x\"\":[1, 2]}\",[]\n",
		},
		{
			"members that come late get a column in every row",
			Options{},
			[]Row{doc(`{"a":"x\ny"}`, ""), doc(`{"a":2,"b":3}`, ""), doc(`{"a":4}`, `{"c":5}`), doc(`{"b":6}`, "")},
			"id,a,b,output.c\nu1,\"x\ny\",,\nu2,2,3,\nu3,4,,5\nu4,,6,\n",
		},
		{"an id that is the item's own is not repeated", Options{}, []Row{doc(`{"id":"u1","a":1}`, ""), doc(`{"id":"u2","a":2}`, "")}, "id,a\nu1,1\nu2,2\n"},
		{"an id that is another is kept", Options{}, []Row{doc(`{"id":"u1"}`, ""), doc(`{"id":7}`, "")}, "id,data.id\nu1,\nu2,7\n"},
		{
			"names that the report uses are told apart",
			Options{},
			[]Row{doc(`{"output":1,"output.a":2,"data":3,"data.x":4,"":5}`, `{"a":6}`)},
			"id,data.output,data.output.a,data.data,data.data.x,data.,output.a\nu1,1,2,3,4,5,6\n",
		},
		{"a document that is not an object has one column", Options{}, []Row{doc(`[1,2]`, `"text"`), doc(``, `null`), doc(`{"a":`, `7`)}, "id,data,output\nu1,\"[1,2]\",text\nu2,,\nu3,\"{\"\"a\"\":\",7\n"},
		{"formulas are guarded, in names too", Options{}, []Row{{ID: "=1", Data: []byte(`{"+x":"@y","n":-5}`)}}, "id,'+x,n\n'=1,'@y,-5\n"},
		{"formulas stay when told", Options{RawCells: true}, []Row{{ID: "=1", Data: []byte(`{"+x":"@y"}`)}}, "id,+x\n=1,@y\n"},
		{"a mark for spreadsheets when told", Options{BOM: true}, []Row{doc(`{"a":1}`, ""), doc(`{"b":1}`, "")}, "\uFEFFid,a,b\nu1,1,\nu2,,1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := len(tt.rows)
			got := written(t, FormatCSV, tt.o, allDone(n), doneRows(tt.rows...))
			if d := cmp.Diff(tt.want, got["done.csv"]); d != "" || len(got) != 2 {
				t.Errorf("done.csv (-want +got), %d files:\n%s", len(got), d)
			}
		})
	}
}

func TestMembersWithoutEndShareOneColumn(t *testing.T) {
	var rows []Row
	for i := range 3 * maxColumns {
		rows = append(rows, Row{Data: fmt.Appendf(nil, `{"m%d":"v%d","same":1}`, i, i)})
	}
	got := written(t, FormatCSV, Options{}, allDone(len(rows)), doneRows(rows...))
	table, err := csv.NewReader(strings.NewReader(got["done.csv"])).ReadAll() // checks that all rows are equally wide
	if err != nil || len(table) != len(rows)+1 || len(table[0]) != maxColumns+1 {
		t.Fatalf("%d rows, %v, want %d rows of %d cells", len(table), err, len(rows)+1, maxColumns+1)
	}
	last := table[len(rows)]
	if want := fmt.Sprintf(`{"m%d":"v%d"}`, len(rows)-1, len(rows)-1); last[maxColumns] != want || table[0][maxColumns] != "more" {
		t.Errorf("column %q of the last row = %q, want %q in more", table[0][maxColumns], last[maxColumns], want)
	}
}

// TestNothingIsLostInCSV writes any documents and finds every member again under its column.
func TestNothingIsLostInCSV(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		docs := rapid.SliceOfN(rapid.MapOf(rapid.StringMatching(`[a-f]|id|data\.x|output`), rapid.StringMatching(`[a-z=,"\n '-]{0,5}`)), 1, 20).Draw(rt, "documents")
		w, err := NewWriter(dir, FormatCSV, Options{RawCells: true})
		if err != nil {
			rt.Fatal(err)
		}
		for i, d := range docs {
			data, _ := json.Marshal(d)
			if err := w.Write(Row{ID: fmt.Sprint("#", i), State: StateDone, Data: data}); err != nil {
				rt.Fatal(err)
			}
		}
		if err := w.Close(allDone(len(docs))); err != nil {
			rt.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, "done.csv"))
		if err != nil {
			rt.Fatal(err)
		}
		defer f.Close()
		table, err := csv.NewReader(f).ReadAll()
		if err != nil || len(table) != len(docs)+1 {
			rt.Fatalf("%d rows, %v, want %d", len(table), err, len(docs)+1)
		}
		for i, d := range docs {
			for name, want := range d {
				column := slices.Index(table[0], name)
				if slices.Contains([]string{"id", "data.x", "output"}, name) {
					column = slices.Index(table[0], "data."+name)
				}
				if column < 0 || table[i+1][column] != want {
					rt.Fatalf("row %d, member %q: column %d of %q, want %q in %q", i, name, column, table[0], want, table[i+1])
				}
			}
		}
	})
}

// story is a report with a row of every kind.
func story(w *Writer) error {
	data := []byte("{\n\"amount\": 5}")
	return errors.Join(
		w.Write(Row{ID: "u1", State: StateDone, Step: "notify", Data: data, Output: []byte(`{"ok":true}`), Attempts: 2}),
		w.Write(Row{ID: "u2", State: StateFailed, Step: "notify", Code: "bad_address", Message: "no such address: u2@example.com", Attempts: 1, Data: data}),
		w.Write(Row{ID: "u3", State: StateFailed, Step: "award", Code: "closed", Message: "wallet 17 is closed", Attempts: 3, Data: data}),
		w.Write(Row{ID: "u4", State: StateCancelled, Step: "award", Reason: "asked by ops", Code: CodeUnclear, Message: "it may be done", Data: data}),
		w.Write(Row{ID: "u5", State: StateWaiting, Step: "award", Reason: "retry", Attempts: 1, Data: data}),
		w.Write(Row{ID: "u6", State: StateReady, Step: "award", Data: data}),
		w.Duplicate(9, "u1", 2), w.Duplicate(10, "u1", 0),
		w.Invalid(Invalid{Line: 11, Column: 3, Code: "bad_csv", Value: "=x\"", Problem: "there is a quote", Fix: "double it"}),
	)
}

func storySummary() Summary {
	start := time.Date(2026, 11, 15, 14, 0, 0, 0, time.UTC)
	end := start.Add(90 * time.Second)
	groups := []Group{
		{"notify", "bad_address", "no such address: <email>", 1, Sample{"u2", "no such address: u2@example.com"}},
		{"award", "closed", "wallet <n> is closed", 1, Sample{"u3", "wallet 17 is closed"}},
	}
	return Summary{
		ID: "ba_1", Name: "spring-reward", Tenant: "growth", State: "finished", Outcome: "some_failed", RetryOf: "ba_0",
		StartedAt: start, FinishedAt: &end, Duration: Duration(90 * time.Second), Durability: "disk",
		Counts: weir.Counts{Total: 6, Done: 1, Failed: 2, Cancelled: 1, Ready: 1, Waiting: 1}, Duplicates: 2, Invalid: 1,
		Steps: []Step{
			{
				Name: "award", Action: "award-reward", Done: 2, Failed: 1, Attempts: 6, Calls: 4, Retries: 3, Refused: 1, Rate: 0.5,
				Latency: Latency{Duration(88 * time.Millisecond), Duration(214 * time.Millisecond), Duration(1400 * time.Millisecond), Duration(61 * time.Second)},
			},
			{Name: "notify", Action: "send-message", Done: 1, Failed: 1, LeftOut: 4, Attempts: 3, Retries: 1},
		},
		Errors: groups,
		Waited: []Wait{{"rate", Duration(time.Minute), 0.75}, {"retry", Duration(20 * time.Second), 0.25}},
	}
}

func TestWholeReport(t *testing.T) {
	for _, f := range []Format{FormatCSV, FormatNDJSON} {
		t.Run(string(f), func(t *testing.T) {
			var b strings.Builder
			got := written(t, f, Options{}, storySummary(), story)
			for _, name := range slices.Sorted(maps.Keys(got)) {
				fmt.Fprintf(&b, "-- %s --\n%s", name, got[name])
			}
			golden := filepath.Join("testdata", string(f)+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("report (-want +got):\n%s", d)
			}
			var back Summary
			if err := json.Unmarshal([]byte(got["report.json"]), &back); err != nil || back.Check() != nil {
				t.Errorf("report.json read back: %v, %v", err, back.Check())
			}
		})
	}
}
