package source

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read lists what a file gives, one string per item or row error: "line id data" or "line:column code".
func read(t testing.TB, r *Reader) (got []string, fatal error) {
	t.Helper()
	for it, err := range r.Items() {
		var bad *RowError
		switch {
		case errors.As(err, &bad):
			if bad.Problem == "" || bad.Fix == "" {
				t.Errorf("%+v lacks a problem or a fix", bad)
			}
			got = append(got, fmt.Sprintf("%d:%d %s", bad.Line, bad.Column, bad.Code))
		case err != nil:
			fatal = err
		case fatal != nil:
			t.Errorf("item %q after the fatal error %v", it.ID, fatal)
		default:
			got = append(got, fmt.Sprintf("%d %s %s", it.Line, it.ID, it.Data))
		}
	}
	return got, fatal
}

func open(t testing.TB, text, name string, o Options) *Reader {
	t.Helper()
	r, err := Open(strings.NewReader(text), name, o)
	if err != nil {
		t.Fatalf("Open(%q): %v", text, err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// wantItems reads the text whole and, as a slow pipe gives it, byte by byte.
func wantItems(t *testing.T, text, name string, o Options, want []string) {
	t.Helper()
	got, fatal := read(t, open(t, text, name, o))
	if d := cmp.Diff(want, got); d != "" || fatal != nil {
		t.Errorf("items of %q (-want +got), error %v:\n%s", text, fatal, d)
	}
	r, err := Open(slowly{strings.NewReader(text)}, name, o)
	if err != nil {
		t.Fatal(err)
	}
	if slow, _ := read(t, r); !cmp.Equal(got, slow) {
		t.Errorf("items of %q read byte by byte = %q, want %q", text, slow, got)
	}
}

// slowly gives one byte at a time.
type slowly struct{ r io.Reader }

func (s slowly) Read(p []byte) (int, error) { return s.r.Read(p[:min(1, len(p))]) }

func TestCSV(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a row becomes an object of strings in header order", "id,b,a\n1,2,3\n", []string{`2 1 {"id":"1","b":"2","a":"3"}`}},
		{"the last line feed may be missing", "id,n\n1,x", []string{`2 1 {"id":"1","n":"x"}`}},
		{"CRLF is a line end", "id,n\r\n1,x\r\n", []string{`2 1 {"id":"1","n":"x"}`}},
		{"blank lines are skipped", "\nid,n\n\n1,x\n\n\n", []string{`4 1 {"id":"1","n":"x"}`}},
		{"rows of delimiters alone are skipped", "id,n\n,\n1,x\n , \n", []string{`3 1 {"id":"1","n":"x"}`}},
		{"columns without name at the end are left out while they are empty", "id,n,,\n1,x,,\n2,y,,z\n,,,\n3,z,\"\"\n", []string{`2 1 {"id":"1","n":"x"}`, "3:0 bad_csv", `5 3 {"id":"3","n":"z"}`}},
		{"rows of delimiters alone are skipped however many", "id,n\n,,,\n1,x\n", []string{`3 1 {"id":"1","n":"x"}`}},
		{"a first line may name the delimiter", "sep=;\r\nid;n\r\n1;a,b\r\n", []string{`3 1 {"id":"1","n":"a,b"}`}},
		{"a column may be named like that line", "sep=x,id\n1,2\n", []string{`2 2 {"sep=x":"1","id":"2"}`}},
		{"quotes hold delimiters, quotes and line ends", "id,n\n\"1\",\"a,\"\"b\"\"\r\nc\"\n2,x\n", []string{`2 1 {"id":"1","n":"a,\"b\"\nc"}`, `4 2 {"id":"2","n":"x"}`}},
		{"a quoted empty cell is empty", "id,n\n1,\"\"\n", []string{`2 1 {"id":"1","n":""}`}},
		{"column names are trimmed, values are not", "id , n\n1, x\n", []string{`2 1 {"id":"1","n":" x"}`}},
		{"text is escaped for JSON", "id,n\n1,a\\b\tü\n", []string{`2 1 {"id":"1","n":"a\\b\tü"}`}},
		{"a row that is too short or too long is told and passed", "id,n\n1\n2,x,y\n3,x\n", []string{"2:0 bad_csv", "3:0 bad_csv", `4 3 {"id":"3","n":"x"}`}},
		{"an open quote costs one line", "id,n\n1,\"x\n2,y\n3,z\n", []string{"2:3 bad_csv", `3 2 {"id":"2","n":"y"}`, `4 3 {"id":"3","n":"z"}`}},
		{"a quote inside a bare cell is told", "id,n\n1,x\"y\n2,z\n", []string{"2:4 bad_csv", `3 2 {"id":"2","n":"z"}`}},
		{"text behind a closing quote is told", "id,n\n1,\"x\"y\n2,z\n", []string{"2:5 bad_csv", `3 2 {"id":"2","n":"z"}`}},
		{"a missing id is told", "id,n\n,x\n  ,y\n", []string{"2:1 missing_id", "3:1 missing_id"}},
		{"an id that is too long is told", "id,n\n" + strings.Repeat("i", 21) + ",x\n", []string{"2:1 id_too_long"}},
		{"an item that is too large is told", "id,n\n1," + strings.Repeat("x", 70) + "\n2,y\n", []string{"2:0 item_too_large", `3 2 {"id":"2","n":"y"}`}},
		{"a line that is far too long is told", "id,n\n1," + strings.Repeat("x", 500) + "\n2,y\n", []string{"2:0 item_too_large", `3 2 {"id":"2","n":"y"}`}},
		{"a long row of quotes is told", "id,n\n\"1\"," + strings.Repeat("x", 500) + "\n2,y\n", []string{"2:0 item_too_large", `3 2 {"id":"2","n":"y"}`}},
		{"a header alone has no items", "id,n\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantItems(t, tt.text, "x.csv", Options{MaxItem: 64, MaxID: 20}, tt.want)
		})
	}
}

func TestBadHeader(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		o          Options
		problem    string
	}{
		{"empty file", "", Options{}, "the file is empty"},
		{"blank lines alone", "\n\n", Options{}, "the file is empty"},
		{"a column twice", "id,n,id\n", Options{}, `columns 1 and 3 are both named "id"`},
		{"nothing but delimiters", ",,\n", Options{}, "column 1 has no name"},
		{"a delimiter other than the file says", "sep=;\nid;n\n1;2\n", Options{Delimiter: ','}, `looks ';'-separated`},
		{"a column without name", "id,,n\n", Options{}, "column 2 has no name"},
		{"no column with the name of an id", "amount,user,mail\n5,u1,a\n5,u2,b\n", Options{}, "found amount, user, mail"},
		{"one column that is not named as an id", "name\nu1\nu2\n", Options{}, "found name"},
		{"columns that are given, and no id among them", "5,u1\n", Options{Columns: []string{"amount", "user"}}, "found amount, user"},
		{"no header but data", "u1,500,anna@example.com\nu2,100,b@example.com\n", Options{}, "looks like data"},
		{"an id column that is not there", "id,n\n", Options{IDColumn: "user"}, `no column "user"`},
		{"the wrong delimiter", "id;n\n1;2\n", Options{Delimiter: ','}, "only one column"},
		{"an open quote", "id,\"n\n1,2\n", Options{}, "never closed"},
		{"old line ends", "id,n\r1,2\r3,4\r", Options{}, "CR alone"},
		{"names that are not text", "id,n\xff\n1,2", Options{Encoding: "utf-8"}, "not text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(strings.NewReader(tt.text), "x.csv", tt.o)
			var bad *RowError
			if !errors.As(err, &bad) || bad.Code != CodeBadCSV || bad.Line != 1 || bad.Fix == "" || !strings.Contains(bad.Error(), tt.problem) {
				t.Errorf("Open(%q) = %#v, want bad_csv on line 1 with %q and a fix", tt.text, err, tt.problem)
			}
		})
	}
	_, err := Open(strings.NewReader("id;n\n1;2\n"), "x.csv", Options{Delimiter: ','})
	if !strings.Contains(err.Error(), `looks ';'-separated`) {
		t.Errorf("error for a wrong delimiter = %v, want the right one named", err)
	}
}

func TestNDJSON(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"documents stay as they are", "{\"id\":\"1\", \"n\": 9007199254740993}\n", []string{`1 1 {"id":"1", "n": 9007199254740993}`}},
		{"blank lines, CRLF and a missing last line feed are fine", "\n {\"id\":\"1\"} \r\n\r\n{\"id\":\"2\"}", []string{`2 1 {"id":"1"}`, `4 2 {"id":"2"}`}},
		{"a whole number is an id, digit by digit", `{"id":12345678901234567890}`, []string{`1 12345678901234567890 {"id":12345678901234567890}`}},
		{"an escaped id is read", `{"\u0069d":"\u00fc\"1"}`, []string{`1 ü"1 {"\u0069d":"\u00fc\"1"}`}},
		{"an id of a nested object does not count", `{"x":{"id":"no","y":[1,{"id":2}]},"id":"yes"}`, []string{`1 yes {"x":{"id":"no","y":[1,{"id":2}]},"id":"yes"}`}},
		{"a broken line is told by column and passed", "{\"id\":1,}\n{\"id\":\"2\"}", []string{"1:9 bad_line", `2 2 {"id":"2"}`}},
		{"an unfinished line is told", "{\"id\":1\n{\"id\":\"2\"}", []string{"1:8 bad_line", `2 2 {"id":"2"}`}},
		{"two objects in a line are told", `{"id":1}{"id":2}`, []string{"1:9 bad_line"}},
		{"lines that are not objects are reported", "{\"id\":1}\n42\n[1]\n\"x\"\nnull", []string{`1 1 {"id":1}`, "2:1 bad_line", "3:1 bad_line", "4:1 bad_line", "5:1 bad_line"}},
		{"a member twice is told", `{"id":1,"a":1,"a":2}`, []string{"1:15 duplicate_key"}},
		{"a member twice is told however deep and however written", `{"id":1,"a":[{"b":1,"\u0062":2}]}`, []string{"1:21 duplicate_key"}},
		{"bad UTF-8 is told, not repaired", "{\"id\":\"a\xffb\"}\n{\"id\":\"2\"}", []string{"1:9 bad_encoding", `2 2 {"id":"2"}`}},
		{"half a surrogate pair is told", `{"id":"\ud800"}`, []string{"1:8 bad_line"}},
		{"a missing id is told", "{\"id\":1}\n{\"n\":1}\n{\"id\":null}\n{\"id\":\"\"}\n{}", []string{`1 1 {"id":1}`, "2:0 missing_id", "3:7 missing_id", "4:7 missing_id", "5:0 missing_id"}},
		{"other ids are told", "{\"id\":1.5}\n{\"id\":1e3}\n{\"id\":true}\n{\"id\":[1]}", []string{"1:7 bad_id", "2:7 bad_id", "3:7 bad_id", "4:7 bad_id"}},
		{"a long id is told", `{"id":"` + strings.Repeat("i", 21) + `"}`, []string{"1:7 id_too_long"}},
		{"large items are told", `{"id":1,"n":"` + strings.Repeat("x", 70) + `"}` + "\n" + strings.Repeat("x", 999) + "\n{\"id\":\"3\"}", []string{"1:0 item_too_large", "2:0 item_too_large", `3 3 {"id":"3"}`}},
		{"no lines, no items", "\n\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantItems(t, tt.text, "x.ndjson", Options{MaxItem: 64, MaxID: 20}, tt.want)
		})
	}
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"an array gives its elements as they are", "[{\"id\":\"1\"},\n {\"id\": \"2\"} ]\n", []string{`1 1 {"id":"1"}`, `2 2 {"id": "2"}`}},
		{"an empty array has no items", " [ ] ", nil},
		{"no text has no items", " \n", nil},
		{"objects over many lines are fine", "[\n{\n\"id\": 1\n}\n]", []string{"2 1 {\n\"id\": 1\n}"}},
		{"objects may follow each other without an array", "{\n\"id\":1}\n{\"id\":2}{\"id\":3}", []string{"1 1 {\n\"id\":1}", `3 2 {"id":2}`, `3 3 {"id":3}`}},
		{"brackets in text do not count", `[{"id":"]}\"]"},{"id":2}]`, []string{`1 ]}"] {"id":"]}\"]"}`, `1 2 {"id":2}`}},
		{"a broken element is told by line and column and passed", "[{\"id\":1},\n{\"id\":\n nope},{\"id\":3}]", []string{`1 1 {"id":1}`, "3:3 bad_line", `3 3 {"id":3}`}},
		{"elements that are not objects are reported", `[1,"x",null,[],{"id":5}]`, []string{"1:2 bad_line", "1:4 bad_line", "1:8 bad_line", "1:13 bad_line", `1 5 {"id":5}`}},
		{"large elements are told", `[{"id":1,"n":"` + strings.Repeat("x", 70) + `"},{"id":"2","n":[` + strings.Repeat("1,", 500) + `1]},{"id":3}]`, []string{"1:0 item_too_large", "1:0 item_too_large", `1 3 {"id":3}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantItems(t, tt.text, "x", Options{Format: JSON, MaxItem: 64, MaxID: 20}, tt.want)
		})
	}
}

func TestAnItemThatIsNestedTooDeepIsABadRow(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"id":"d","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}")
	}
	if bad := CheckDocument(deep(MaxDepth - 1)); bad != nil {
		t.Errorf("%d deep: %v", MaxDepth, bad)
	}
	if bad := CheckDocument(deep(MaxDepth)); bad == nil || bad.Code != CodeBadJSON || !strings.Contains(bad.Problem, "1000 deep") {
		t.Errorf("%d deep: %v, want it refused", MaxDepth+1, bad)
	}
	text := []byte(`{"id":"d","x":"` + strings.Repeat("[", 5*MaxDepth) + `"}`)
	if bad := CheckDocument(text); bad != nil {
		t.Errorf("brackets in a text: %v", bad)
	}
}

func TestBrokenJSONEndsTheStream(t *testing.T) {
	for _, tt := range []struct {
		name, text, code string
		items            int
	}{
		{"cut inside an element", `[{"id":1},{"id":`, CodeBadJSON, 1},
		{"cut after an element", `[{"id":1}`, CodeBadJSON, 1},
		{"cut after a comma", `[{"id":1},`, CodeBadJSON, 1},
		{"cut inside a large element", `[{"id":1},{"id":"` + strings.Repeat("x", 900), CodeBadJSON, 1},
		{"no comma", `[{"id":1} {"id":2}]`, CodeBadJSON, 1},
		{"a comma too many", `[{"id":1},]`, CodeBadJSON, 1},
		{"two commas", `[{"id":1},,{"id":2}]`, CodeBadJSON, 1},
		{"a bracket too many", `[{"id":1}]]`, CodeBadJSON, 1},
		{"a bracket of the wrong kind", `[{"id":1},}`, CodeBadJSON, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, open(t, tt.text, "x.json", Options{MaxItem: 64}))
			var bad *InputError
			if !errors.As(err, &bad) || bad.Code != tt.code || bad.Line != 1 || bad.Fix == "" || len(got) != tt.items {
				t.Errorf("reading %q gave %q and %#v, want %d items and code %s", tt.text, got, err, tt.items, tt.code)
			}
		})
	}
}
