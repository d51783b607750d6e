package source

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

func TestAnIDIsPreferredToAnAddress(t *testing.T) {
	for _, tt := range []struct{ header, want string }{
		{"E-Mail;Kundennummer", "Kundennummer"}, {"E-Mail;Kunden-Nr.", "Kunden-Nr."}, {"Email;Customer Number", "Customer Number"},
		{"E-mail;N° client", "N° client"}, {"E-mail;Numéro client", "Numéro client"}, {"Email;Número de cliente", "Número de cliente"},
		{"Email;Codice cliente", "Codice cliente"}, {"E-mail;Klantnummer", "Klantnummer"}, {"E-mail;Código do cliente", "Código do cliente"},
		{"E-Mail;Kundennummer;ID", "ID"}, {"Name;E-Mail", "E-Mail"},
		{"Ort;Kunde", "Kunde"}, {"City;Customer", "Customer"}, {"Ville;Client", "Client"}, {"Ciudad;Cliente", "Cliente"}, {"Plaats;Klant", "Klant"}, {"Ciudad;Cliente_ID", "Cliente_ID"}, {"Kunde;E-Mail", "E-Mail"},
	} {
		if got := open(t, tt.header+"\na;b;c\n", "x.csv", Options{}).Detected().IDColumn; got != tt.want {
			t.Errorf("the id of %q is %q, want %q", tt.header, got, tt.want)
		}
	}
}

func TestDetected(t *testing.T) {
	const rows, lines = "name;Email\nAnna;a@example.com\n", `{"name":"Anna","email":"a@example.com"}` + "\n"
	csv := Detected{Format: CSV, Encoding: "utf-8", Delimiter: ';', IDColumn: "Email", Columns: []string{"name", "Email"}}
	with := func(d Detected, change func(*Detected)) Detected { change(&d); return d }
	for _, tt := range []struct {
		name, file, text string
		o                Options
		want             Detected
	}{
		{"CSV by its name, semicolons by its lines", "x.csv", rows, Options{}, csv},
		{"CSV by its content", "-", rows, Options{}, csv},
		{"tabs by its name", "x.tsv", "id\tn,m\n1\t2\n", Options{}, Detected{Format: CSV, Encoding: "utf-8", Delimiter: '\t', IDColumn: "id", Columns: []string{"id", "n,m"}}},
		{"pipes by its lines", "-", "id|n\n1|2,3\n", Options{}, Detected{Format: CSV, Encoding: "utf-8", Delimiter: '|', IDColumn: "id", Columns: []string{"id", "n"}}},
		{"delimiters in quotes do not count", "-", "id,n\n1,\"a;b;c\"\n2,\";;;\"\n", Options{}, Detected{Format: CSV, Encoding: "utf-8", Delimiter: ',', IDColumn: "id", Columns: []string{"id", "n"}}},
		{"one column needs no delimiter", "-", "email\na@example.com\n", Options{}, Detected{Format: CSV, Encoding: "utf-8", Delimiter: ',', IDColumn: "email", Columns: []string{"email"}}},
		{"gzip by its first bytes", "x.csv.gz", gzipped(t, rows), Options{}, with(csv, func(d *Detected) { d.Compression = "gzip" })},
		{"zstd by its first bytes", "x", zstded(t, rows), Options{}, with(csv, func(d *Detected) { d.Compression = "zstd" })},
		{"a UTF-8 mark is taken off", "x.csv", "\uFEFF" + rows, Options{}, with(csv, func(d *Detected) { d.Marked = true })},
		{"the id is known by its name, however it is written", "x.csv", "phone,User ID\n1,2\n", Options{}, Detected{Format: CSV, Encoding: "utf-8", Delimiter: ',', IDColumn: "User ID", Columns: []string{"phone", "User ID"}}},
		{"options win", "x.csv", "a,b\n1,2\n", Options{Columns: []string{"x", "y"}, IDColumn: "y"}, Detected{Format: CSV, Encoding: "utf-8", Delimiter: ',', IDColumn: "y", Columns: []string{"x", "y"}}},
		{"NDJSON by its content", "-", lines, Options{}, Detected{Format: NDJSON, Encoding: "utf-8", IDColumn: "email"}},
		{"NDJSON in spite of the name", "x.json", lines, Options{}, Detected{Format: NDJSON, Encoding: "utf-8", IDColumn: "email"}},
		{"a broken first line does not make it JSON", "-", "{\"id\":\n{\"id\":2}\n", Options{}, Detected{Format: NDJSON, Encoding: "utf-8"}},
		{"an array by its content", "-", "\n[" + lines + "]", Options{}, Detected{Format: JSON, Encoding: "utf-8", IDColumn: "email"}},
		{"printed objects by their content", "-", "{\n  \"uuid\": 1\n}\n", Options{}, Detected{Format: JSON, Encoding: "utf-8", IDColumn: "uuid"}},
		{"no member has the name of an id", "-", `[{"phone":1,"city":2}]`, Options{}, Detected{Format: JSON, Encoding: "utf-8"}},
		{"nothing at all", "-", "", Options{}, Detected{Format: NDJSON, Encoding: "utf-8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, open(t, tt.text, tt.file, tt.o).Detected()); d != "" {
				t.Errorf("Detected (-want +got):\n%s", d)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	const text = "id,name\n1,Zoë €\n"
	encode := func(e interface{ String(string) (string, error) }) string {
		s, err := e.String(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	le := encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder())
	be := encode(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder())
	for _, tt := range []struct {
		name, text, option, want string
	}{
		{"UTF-8", text, "", "utf-8"},
		{"UTF-16, low byte first, with a mark", le, "", "utf-16le"},
		{"UTF-16, high byte first, with a mark", be, "", "utf-16be"},
		{"UTF-16 without a mark when told", le[2:], "UTF-16LE", "utf-16le"},
		{"windows-1252 when it is not UTF-8", encode(charmap.Windows1252.NewEncoder()), "", "windows-1252"},
		{"another one when told", encode(charmap.ISO8859_15.NewEncoder()), "iso-8859-15", "iso-8859-15"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, tt.text, "x.csv", Options{Encoding: tt.option})
			got, err := read(t, r)
			if want := []string{`2 1 {"id":"1","name":"Zoë €"}`}; !cmp.Equal(got, want) || err != nil {
				t.Errorf("items = %q, %v, want %q", got, err, want)
			}
			if r.Detected().Encoding != tt.want {
				t.Errorf("encoding = %s, want %s", r.Detected().Encoding, tt.want)
			}
		})
	}
	t.Run("rows that are not text are reported", func(t *testing.T) {
		wantItems(t, "id,n\n1,a\xffb\n2,x\n", "x.csv", Options{Encoding: "utf-8"}, []string{"2:4 bad_encoding", `3 2 {"id":"2","n":"x"}`})
		got, _ := read(t, open(t, le+"\x00\xd8x\x00\n\x00", "x.csv", Options{}))
		if len(got) != 2 || !strings.HasSuffix(got[1], "bad_csv") && !strings.HasSuffix(got[1], "bad_encoding") {
			t.Errorf("half a surrogate pair gave %q, want an item and an error", got)
		}
	})
	t.Run("a character that the sample cuts is still UTF-8", func(t *testing.T) {
		long := "id,n\n1," + strings.Repeat("x", sampleSize-8) + "é\n"
		if got := open(t, long, "x.csv", Options{}).Detected().Encoding; got != "utf-8" {
			t.Errorf("encoding = %s, want utf-8", got)
		}
	})
}

func TestFilesThatCannotBeRead(t *testing.T) {
	broken := errors.New("disk on fire")
	big := "id,n\n" + strings.Repeat("1234567,abc\n", 50_000)
	gz, zs := gzipped(t, big), zstded(t, big+gzipped(t, strings.Repeat("x", 1000)))
	for _, tt := range []struct {
		name string
		r    io.Reader
		o    Options
		code string
	}{
		{"gzip cut short", strings.NewReader(gz[:len(gz)-9]), Options{}, CodeCutShort},
		{"gzip cut in its header", strings.NewReader(gz[:5]), Options{}, CodeCutShort},
		{"gzip with a wrong sum", strings.NewReader(gz[:len(gz)-8] + "12345678"), Options{}, CodeCorrupt},
		{"zstd cut short", strings.NewReader(zs[:len(zs)-5]), Options{}, CodeCutShort},
		{"zstd of rubbish", strings.NewReader(zs[:6] + strings.Repeat("\xff", 90)), Options{}, CodeCorrupt},
		{"a disk that fails at once", iotest.ErrReader(broken), Options{}, CodeUnreadable},
		{"a disk that fails later", io.MultiReader(strings.NewReader(big), iotest.ErrReader(broken)), Options{}, CodeUnreadable},
		{"a spreadsheet", strings.NewReader("PK\x03\x04..."), Options{}, CodeNotText},
		{"an old spreadsheet", strings.NewReader("\xd0\xcf\x11\xe0..."), Options{}, CodeNotText},
		{"a Parquet file", strings.NewReader("PAR1..."), Options{}, CodeNotText},
		{"zero bytes", strings.NewReader("i\x00d\x00"), Options{}, CodeNotText},
		{"an unknown format", strings.NewReader(big), Options{Format: "xml"}, "bad_option"},
		{"an unknown encoding", strings.NewReader(big), Options{Encoding: "ebcdic"}, "bad_option"},
		{"a delimiter that is a quote", strings.NewReader(big), Options{Delimiter: '"'}, "bad_option"},
		{"a limit for items that is too small", strings.NewReader(big), Options{MaxItem: 3}, "bad_option"},
		{"a negative limit", strings.NewReader(big), Options{Limit: -1}, "bad_option"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Open(tt.r, "some/file", tt.o)
			if err == nil {
				_, err = read(t, r)
				r.Close()
			}
			var bad *InputError
			if !errors.As(err, &bad) || bad.Code != tt.code || !strings.HasPrefix(bad.Error(), "some/file: ") {
				t.Errorf("error = %#v (%v), want code %s and the file's name", err, err, tt.code)
			}
			if tt.code == CodeUnreadable && !errors.Is(err, broken) {
				t.Errorf("error %v does not wrap its cause", err)
			}
		})
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.csv.gz")
	content := gzipped(t, "id,n\n1,a\n2,b\n3,c\n")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, r); len(got) != 3 || err != nil {
		t.Errorf("items = %q, %v, want 3", got, err)
	}
	if r.Size() != int64(len(content)) || r.BytesRead() != r.Size() {
		t.Errorf("size %d, read %d, want both %d", r.Size(), r.BytesRead(), len(content))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got, _ := read(t, r); len(got) != 0 {
		t.Errorf("items after Close = %q", got)
	}
	if _, err := OpenFile(path+"x", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenFile of no file = %v, want ErrNotExist", err)
	}
}

func TestLimitAndGoingOn(t *testing.T) {
	r := open(t, "id,n\n1\n2,b\n3,c\n4,d\n", "x.csv", Options{Limit: 2})
	for it := range r.Items() {
		if it.ID == "2" {
			break
		}
	}
	got, err := read(t, r)
	if want := []string{`4 3 {"id":"3","n":"c"}`}; !cmp.Equal(got, want) || err != nil {
		t.Errorf("items after a break, limit 2 = %q, %v, want %q", got, err, want)
	}
}

// endless is a line that does not end.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func TestAnEndlessLineCostsNoMemory(t *testing.T) {
	for _, start := range []string{"{\"id\":\"", "id,n\n1,", "id,n\n1,\"", "[{\"id\":\""} {
		r, err := Open(io.MultiReader(strings.NewReader(start), &endless{left: 64 << 20}, strings.NewReader("\"}]\n")), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range r.Items() {
		}
		var w *buffer
		switch rows := r.rows.(type) {
		case *lines:
			w = rows.w
		case *csvRows:
			w = rows.w
		case *elements:
			w = rows.w
		}
		if len(w.buf) > 2*256<<10 {
			t.Errorf("buffer after %q = %d bytes, want at most twice the largest item", start, len(w.buf))
		}
	}
}
