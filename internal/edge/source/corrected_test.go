package source

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/core/plain"
)

func TestBadRowsAreKeptAsTheyAreInTheFile(t *testing.T) {
	for _, tt := range []struct {
		name, file, rows string
		want             []string
	}{
		{"too few cells", "u.csv", "id,name,age\nu1\n", []string{"u1"}},
		{"too many cells", "u.csv", "id,name\nu1,a,\"b, c\"\nu2,x\n", []string{"u1", "a", "b, c"}},
		{"no id", "u.csv", "id,name\n,\"say \"\"hi\"\"\"\n", []string{"", `say "hi"`}},
		{"bytes that are not text", "u.csv", "id,name\nu1,ä\nu2,\xff\n", []string{"u2", "\uFFFD"}},
		{"a quote too many", "u.csv", "id,name\nu1,a\"b\nu2,c\n", []string{`u1,a"b`}},
		{"a quote that stays open", "u.csv", "id,name\nu1,\"a\nu2,c\n", []string{`u1,"a`}},
		{"not JSON", "u.ndjson", "{\"id\":\"u1\"}\n{\"id\":\n", []string{`{"id":`}},
		{"JSON without an id", "u.json", `[{"id":"u1"},{"n":1}]`, []string{`{"n":1}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				rd, err := Open(strings.NewReader(tt.rows), tt.file, Options{KeepRows: keep, Encoding: "utf-8"})
				if err != nil {
					t.Fatal(err)
				}
				var bad *RowError
				for _, err := range rd.Items() {
					if err != nil && bad == nil && !errors.As(err, &bad) {
						t.Fatal(err)
					}
				}
				if bad == nil {
					t.Fatal("no row is bad")
				}
				want := tt.want
				if !keep {
					want = nil
				}
				if !slices.Equal(bad.Cells, want) {
					t.Errorf("cells %q, want %q", bad.Cells, want)
				}
			}
		})
	}
}

func TestACorrectedListOfBadRowsIsReadWithoutItsNotes(t *testing.T) {
	const list = "weir_line,weir_problem,weir_fix,id,phone,note\n7,the id is missing,give it one,u7,'+4930,'quoted'\n"
	rd, err := Open(strings.NewReader(list), "bad-rows.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for it, err := range rd.Items() {
		if want := `{"id":"u7","phone":"+4930","note":"'quoted'"}`; err != nil || string(it.Data) != want {
			t.Errorf("%s, %v; want %s", it.Data, err, want)
		}
	}
	rd, err = Open(strings.NewReader("id,weir_fix,phone\nu7,x,'+4930\n"), "users.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for it, err := range rd.Items() { // not such a list
		if want := `{"id":"u7","weir_fix":"x","phone":"'+4930"}`; err != nil || string(it.Data) != want {
			t.Errorf("%s, %v; want %s", it.Data, err, want)
		}
	}
}

func TestGuardedCellsAreReadAsTheyWere(t *testing.T) {
	for _, cell := range []string{"", "=y", "'=y", "''=y", "'-3", "'", "''", "'apos", "''two", "+49", "\tx", "＝x", "plain"} {
		guarded := Guarded(cell)
		if got := string(unguarded([]byte(guarded))); got != cell {
			t.Errorf("%q is written as %q and read as %q", cell, guarded, got)
		}
		if plain.Formula(guarded) {
			t.Errorf("%q is written as %q, which a spreadsheet evaluates", cell, guarded)
		}
	}
}
