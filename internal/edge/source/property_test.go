package source

import (
	"bytes"
	stdcsv "encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cellText generates text that encoding/csv gives back unchanged: no lone CR before LF.
func cellText() *rapid.Generator[string] {
	return rapid.Map(rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("a,;\"\n\t'\\| ü€😀\x01")), rapid.Rune())), func(s string) string {
		return strings.NewReplacer("\r", "", "\x00", "", "\uFFFD", "", "\uFEFF", "").Replace(s)
	})
}

func TestCSVRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 5).Draw(t, "width")
		delim := rapid.SampledFrom([]rune(delimiters)).Draw(t, "delimiter")
		columns := []string{"id"}
		for i := range width {
			columns = append(columns, fmt.Sprintf("c%d,;", i))
		}
		var want []map[string]string
		var text bytes.Buffer
		w := stdcsv.NewWriter(&text)
		w.Comma, w.UseCRLF = delim, rapid.Bool().Draw(t, "CRLF")
		check(t, w.Write(columns))
		for i := range rapid.IntRange(0, 20).Draw(t, "rows") {
			row, item := []string{fmt.Sprint("id-", i)}, map[string]string{"id": fmt.Sprint("id-", i)}
			for _, c := range columns[1:] {
				item[c] = cellText().Draw(t, "cell")
				row = append(row, item[c])
			}
			check(t, w.Write(row))
			want = append(want, item)
		}
		w.Flush()
		var got []map[string]string
		r, err := Open(&text, "x", Options{Format: CSV, Delimiter: delim})
		check(t, err)
		for it, err := range r.Items() {
			check(t, err)
			var item map[string]string
			check(t, json.Unmarshal(it.Data, &item))
			if item["id"] != it.ID {
				t.Fatalf("id = %q, data %s", it.ID, it.Data)
			}
			got = append(got, item)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("items (-want +got):\n%s", d)
		}
	})
}

func check(t *rapid.T, err error) {
	if err != nil {
		t.Fatalf("unexpected: %v", err)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var docs []string
		for i := range rapid.IntRange(0, 20).Draw(t, "items") {
			item := rapid.MapOf(rapid.StringMatching(`[a-h"\\ü]{1,3}`), rapid.OneOf(
				rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.Int64(), func(n int64) any { return n }),
				rapid.Map(rapid.SliceOf(rapid.Bool()), func(b []bool) any { return b }))).Draw(t, "item")
			doc, err := json.Marshal(maps.Collect(maps.All(item)))
			check(t, err)
			docs = append(docs, fmt.Sprintf(`{"id":"i%d","doc":%s}`, i, doc))
		}
		space := rapid.SampledFrom([]string{"", " ", "\n", "\r\n\t"}).Draw(t, "space")
		for _, f := range []struct {
			format Format
			text   string
		}{
			{NDJSON, strings.Join(docs, "\n"+strings.Trim(space, "\t"))},
			{JSON, "[" + strings.Join(docs, space+","+space) + "]"},
			{JSON, strings.Join(docs, space)},
		} {
			r, err := Open(strings.NewReader(f.text), "x", Options{Format: f.format})
			check(t, err)
			var got []string
			for it, err := range r.Items() {
				check(t, err)
				if it.ID != fmt.Sprint("i", len(got)) {
					t.Fatalf("item %d has id %q", len(got), it.ID)
				}
				got = append(got, string(it.Data))
			}
			if !slices.Equal(docs, got) {
				t.Fatalf("%s: items = %q, want %q", f.format, got, docs)
			}
		}
	})
}

// FuzzCSVCells compares the cells with those of encoding/csv, wherever that has no complaint.
func FuzzCSVCells(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\"\"b\",\"\r\n\"\r\n", "a\rb,\r\n\r\n\r", "\"a", "a\"b\n", "\"a\"b", ",\n,", "\"\"", "\"\"\r", "\"a\",\r", "\"" + strings.Repeat("0", 56) + "\xfd\xfd\xfd\xfd"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		std := stdcsv.NewReader(bytes.NewReader(text))
		std.FieldsPerRecord = -1
		want, wantErr := std.ReadAll()
		c := csvRows{w: newBuffer(slowly{bytes.NewReader(text)}, len(text)+1), delim: ','}
		var got [][]string
		var gotErr error
		for {
			n, bad, err := c.record()
			if err == io.EOF {
				break
			}
			if bad != nil || err != nil {
				gotErr = errors.Join(err, bad)
				break
			}
			var row []string
			for _, at := range c.cells {
				row = append(row, string(c.value(c.w.unread(), at)))
			}
			got = append(got, row)
			c.w.drop(n)
		}
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%q: error %v, encoding/csv has %v", text, gotErr, wantErr)
		}
		if wantErr == nil && !cmp.Equal(want, got) {
			t.Fatalf("%q: cells %q, encoding/csv has %q", text, got, want)
		}
	})
}

// FuzzItems reads random bytes in every format: every item that comes out must be valid.
func FuzzItems(f *testing.F) {
	for _, s := range []string{"id,n\n1,\"x\n2,y\n", "{\"id\":1}\n{\"id\":", "[{\"id\":1},{\"id\":2}", "[[[{{\"", "\xff\xfei\x00d\x00", "\xef\xbb\xbfid;n\n1;2", "\x1f\x8b\x08", "{\"id\":{}}", "{}", "id\n\xff"} {
		for i := range 4 {
			f.Add([]byte(s), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, format uint8) {
		o := Options{Format: [...]Format{Auto, CSV, NDJSON, JSON}[format%4], MaxItem: 128, MaxID: 16}
		r, err := Open(bytes.NewReader(text), "x", o)
		if err != nil {
			return
		}
		defer r.Close()
		line := 0
		for it, err := range r.Items() {
			if err != nil {
				if !utf8.ValidString(err.Error()) {
					t.Fatalf("error %q of %q cannot be shown", err, text)
				}
				continue
			}
			if it.ID == "" || len(it.ID) > o.MaxID || len(it.Data) > o.MaxItem || !jsontext.Value(it.Data).IsValid() {
				t.Fatalf("item %+v of %q is not sound", it, text)
			}
			if it.Line < line {
				t.Fatalf("item at line %d after one at line %d", it.Line, line)
			}
			line = it.Line
		}
	})
}
