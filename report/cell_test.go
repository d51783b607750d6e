package report

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/core/plain"
)

func TestCellsThatLookLikeFormulasAreGuarded(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{"=1+1", "'=1+1"},
		{"+1+1", "'+1+1"},
		{"+491234567", "'+491234567"},
		{"-1+1", "'-1+1"},
		{"-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"},
		{"@SUM(A1)", "'@SUM(A1)"},
		{"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
		{`=HYPERLINK("http://x?"&A1,"click")`, `"'=HYPERLINK(""http://x?""&A1,""click"")"`},
		{"\t=1", "\"'\t=1\""},
		{"\r=1", "\"'\r=1\""},
		{"\n=1", "\"'\n=1\""},
		{"\x00=1", "'\x00=1"},
		{"＝1+1", "'＝1+1"},
		{"＋1", "'＋1"},
		{"－1", "'－1"},
		{"＠x", "'＠x"},
		{"-", "'-"},
		{"--1", "'--1"},
		{"-1e9", "'-1e9"},
		{"-.5", "'-.5"},
		{"-12.5", "-12.5"},
		{"-7", "-7"},
		{"a=1", "a=1"},
		{"'=1", "'=1"},
		{"", ""},
		{" x", `" x"`},
		{"ünder", "ünder"},
		{"a,b", `"a,b"`},
		{`say "hi"`, `"say ""hi"""`},
		{`\.`, `"\."`},
	} {
		if got := string(appendCell(nil, []byte(tt.value), true)); got != tt.want {
			t.Errorf("cell of %q = %q, want %q", tt.value, got, tt.want)
		}
	}
	if got := string(appendCell(nil, []byte("=1+1"), false)); got != "=1+1" {
		t.Errorf("raw cell = %q, want it unchanged", got)
	}
}

// FuzzCell writes a row of three cells and lets encoding/csv read it: the values come back, but for
// the guard and for CRLF, which that reader makes a line feed.
func FuzzCell(f *testing.F) {
	for _, s := range []string{"", "=1", "a,b", "\"", "\r\n", "\n", "＝", "-5", " x", "\xff", "\\.", "'", "\ufeff"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, value string, guard bool) {
		row := appendRow(nil, [][]byte{[]byte("x"), []byte(value), []byte(value)}, guard)
		got, err := csv.NewReader(strings.NewReader(string(row))).ReadAll()
		if err != nil || len(got) != 1 || len(got[0]) != 3 {
			t.Fatalf("%q is written as %q and read as %q, %v", value, row, got, err)
		}
		want := strings.ReplaceAll(value, "\r\n", "\n")
		for _, cell := range got[0][1:] {
			if guard && plain.Formula(cell) {
				t.Fatalf("%q comes back as the formula %q", value, cell)
			}
			if cell != want && (!guard || cell != "'"+want) {
				t.Fatalf("%q comes back as %q", value, cell)
			}
		}
	})
}
