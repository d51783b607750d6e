package source

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// A list of rows opens in the program that has written the file, and is read as the file was.
func TestAListIsWrittenAsItsFile(t *testing.T) {
	const text = "id;größe\r\nu1;2,5\r\nu2;\"a;b\r\nc\"\r\n"
	in := func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, file := range map[string]string{
		"UTF-8": text, "UTF-8 with a mark": "\uFEFF" + text, "with sep=": "sep=;\r\n" + text,
		"Windows-1252":      in(charmap.Windows1252.NewEncoder().String(text)),
		"UTF-16, with tabs": in(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(strings.ReplaceAll(text, ";", "\t"))),
	} {
		t.Run(name, func(t *testing.T) {
			rd, err := Open(strings.NewReader(file), "u.csv", Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			list, err := NewList(&out, rd.Detected())
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range [][]string{{"id", "größe"}, {"u1", "=2,5"}, {"u2", "a;b"}} {
				if err := list.Write(row); err != nil {
					t.Fatal(err)
				}
			}
			if err := list.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := Open(&out, "u.csv", Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, want := again.Detected(), rd.Detected()
			if got.Encoding != want.Encoding || got.Delimiter != want.Delimiter || got.Marked != want.Marked || got.Declared != want.Declared || !slices.Equal(got.Columns, want.Columns) {
				t.Errorf("the list is %+v, the file %+v", got, want)
			}
			for it, err := range again.Items() {
				if err != nil || it.ID == "u1" && string(it.Data) != `{"id":"u1","größe":"'=2,5"}` {
					t.Errorf("a row is %s, %v", it.Data, err)
				}
			}
		})
	}
}

func TestARowOfAListSaysWhichRowItCorrects(t *testing.T) {
	rd, err := Open(strings.NewReader("weir_line;weir_problem;weir_fix;id\n7;x;y;u7\n 4 of file 2;x;y;\n9;x;y\n"), "l.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for it, err := range rd.Items() {
		if bad, isRow := err.(*RowError); isRow {
			it.Corrects = "bad " + bad.Corrects
		}
		got = append(got, it.Corrects)
	}
	if want := []string{"7", "bad 4 of file 2", "bad "}; !slices.Equal(got, want) {
		t.Errorf("the rows correct %q, want %q", got, want)
	}
}

func TestAListOfRowsOfJSONIsReadAsJSON(t *testing.T) {
	rd, err := Open(strings.NewReader("weir_line,weir_problem,weir_fix,row\n3,x,y,\"{\"\"id\"\":7,\"\"n\"\":1}\"\n4,x,y,nonsense\n"), "bad-rows.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for it, err := range rd.Items() {
		if n++; n == 1 && (err != nil || it.ID != "7" || string(it.Data) != `{"id":7,"n":1}` || it.Corrects != "3") {
			t.Errorf("the first row is %+v, %v", it, err)
		}
		if bad, isRow := err.(*RowError); n == 2 && (!isRow || bad.Corrects != "4") {
			t.Errorf("the second row is %#v", err)
		}
	}
	if n != 2 || rd.Detected().IDColumn != "id" {
		t.Errorf("%d rows, with the ids in %q", n, rd.Detected().IDColumn)
	}
}

func TestKeysTellWhereAnIDIs(t *testing.T) {
	k := NewPlacedKeys()
	if _, found := k.At("a"); found {
		t.Error("an empty set has an id")
	}
	k.AddAt("a", 3)
	k.AddAt("a", 4)
	if at, found := k.At("a"); at != 3 || !found {
		t.Errorf("it is at %d, %v", at, found)
	}
	if _, found := k.At("b"); found {
		t.Error("the set has an id that was not added")
	}
}
