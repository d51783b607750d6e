package source

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// openRows decides on the format and prepares its reader.
func (r *Reader) openRows(text io.Reader) error {
	// A CSV row may need more bytes in the file than its document has, because of quotes; the
	// document's own size is checked separately.
	w := newBuffer(text, 2*r.opts.MaxItem)
	for len(w.unread()) < w.limit && len(w.unread()) < sampleSize/4 && w.more() {
	}
	sample := w.unread()
	r.found.Format = detectFormat(r.opts.Format, r.name, sample)
	doc := docs{opts: r.opts, transcoded: r.found.Encoding != "utf-8"}
	switch r.found.Format {
	case CSV:
		c, err := newCSVRows(w, r.opts, r.name, doc.transcoded)
		if err != nil {
			return err
		}
		r.rows = c
		r.found.Delimiter, r.found.Declared, r.found.Columns = rune(c.delim), c.declares, c.columns
		if c.docs != nil {
			r.found.Columns = NoteColumns[:]
		}
	case JSON:
		r.rows = &elements{w: w, docs: doc}
	default:
		r.rows = &lines{w: w, docs: doc}
	}
	r.readAhead()
	return nil
}

// detectFormat uses the option, then the name, then the first byte that is not a space.
func detectFormat(want Format, name string, sample []byte) Format {
	if want != Auto {
		return want
	}
	sample = bytes.TrimLeft(sample, " \t\r\n")
	switch extension(name) {
	case ".csv", ".tsv", ".tab", ".psv":
		return CSV
	case ".ndjson", ".jsonl":
		return NDJSON
	}
	switch {
	case bytes.HasPrefix(sample, []byte("[")):
		return JSON
	case bytes.HasPrefix(sample, []byte("{")):
		return lineOrJSON(sample)
	case len(sample) == 0 || extension(name) == ".json":
		return NDJSON
	}
	return CSV
}

// lineOrJSON distinguishes objects on one line each from objects printed over many lines.
func lineOrJSON(sample []byte) Format {
	line, rest, more := bytes.Cut(sample, []byte("\n"))
	rest = bytes.TrimSpace(rest)
	if !more || len(rest) == 0 || rest[0] == '{' || jsontext.Value(line).IsValid() {
		return NDJSON
	}
	if _, closed := new(scanner).scan(line); closed {
		return NDJSON
	}
	return JSON
}

// extension returns the extension of the file name, without that of a compressor.
func extension(name string) string {
	name = strings.ToLower(name)
	for _, z := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, z)
	}
	return path.Ext(name)
}

// delimiters lists the delimiters to try, the likelier first.
const delimiters = ",;\t|"

// detectDelimiter returns the delimiter that cuts the first lines into equally many cells, and
// of several the one that makes most cells.
func detectDelimiter(name string, sample []byte) byte {
	switch extension(name) {
	case ".tsv", ".tab":
		return '\t'
	case ".psv":
		return '|'
	}
	best, most := byte(','), 1
	for _, d := range []byte(delimiters) {
		if n := evenWidth(sample, d); n > most {
			best, most = d, n
		}
	}
	if most > 1 {
		return best
	}
	header, _, _ := bytes.Cut(sample, []byte("\n")) // rows differ: go by the header alone
	for _, d := range []byte(delimiters) {
		if n := bytes.Count(header, []byte{d}) + 1; n > most {
			best, most = d, n
		}
	}
	return best
}

// evenWidth returns the width of the first rows if they all have the same, else 0.
func evenWidth(sample []byte, delim byte) int {
	c := csvRows{w: newBuffer(bytes.NewReader(sample), len(sample)+1), delim: delim}
	width := 0
	for range 10 {
		n, _, err := c.record()
		if err != nil || n == 0 || bytes.IndexByte(c.w.unread()[:n], '\n') < 0 {
			break // a row that the sample cut does not count
		}
		if width != 0 && width != len(c.cells) {
			return 0
		}
		width = len(c.cells)
		c.w.drop(n)
	}
	return width
}

// IDNames lists the names of id columns and members, the likelier first: English ones, those of other languages, an
// address, which customers change and share, and last the bare word for a customer. Only letters and digits count, without case and accents: "User ID" is user_id,
// and "N° client" is n client.
var IDNames = [...]string{"id", "item_id", "user_id", "customer_id", "account_id", "key", "uuid",
	"client_id", "contact_id", "member_id", "subscriber_id", "customer_number", "customer_no", "user_number", "member_number",
	"account_number",                                                                                                                // en
	"kundennummer", "kunden_nr", "kd_nr", "kunden_id", "kontonummer", "mitgliedsnummer", "mitglieds_nr", "benutzer_id", "nutzer_id", // de
	"numero_client", "n_client", "no_client", "num_client", "identifiant", "id_client", "numero_de_client", // fr
	"numero_de_cliente", "numero_cliente", "n_cliente", "id_cliente", "cliente_id", "identificador", "codigo_cliente", "codigo_de_cliente", "codigo_do_cliente", "numero_do_cliente", // es, pt
	"codice_cliente", "identificativo", // it
	"klantnummer", "klant_nr", "klant_id", "lidnummer", // nl
	"email",
	"customer", "client", "kunde", "cliente", "klant"} // which may hold a name as well

// detectID returns the id column by its name, or -1 if no column has the name of an id. It
// never uses the position: a first column that is not an id repeats, and all rows but a few
// would be lost as duplicates.
func detectID(columns []string) int {
	for _, want := range IDNames {
		for i, c := range columns {
			if plainName(c) == plainName(want) {
				return i
			}
		}
	}
	return -1
}

// plainName returns the letters and digits of a name, without case and accents.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1 // also the accents, which NFD puts behind their letters
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(name))
}

// noID returns the error that no column or member has the name of an id. kind is column or
// member.
func noID(line int, code, kind string, names []string) *RowError {
	found := shorten(strings.Join(names, ", "))
	return &RowError{
		Line: line, Code: code, Value: found,
		Problem: fmt.Sprintf("no %s has the name of an id, such as id, user_id, customer number or email; found %s", kind, found),
		Fix:     nameID(kind),
	}
}

// nameID is the fix for an id that is not found.
func nameID(kind string) string {
	return fmt.Sprintf("name the %s that identifies an item: item_id in the API, --id on the command line", kind)
}

// noMember returns the error of an item outside a file that has no member of the name of its id.
func noMember(member string, names []string) *RowError {
	found := "none"
	if len(names) > 0 {
		found = shorten(strings.Join(names, ", "))
	}
	fix := nameID("member")
	if i := detectID(names); i >= 0 {
		fix = "if " + names[i] + " holds it, " + fix
	}
	return &RowError{Code: CodeMissingID, Field: member, Fix: fix,
		Problem: fmt.Sprintf("no member has the name %q, which holds the id of each item; found %s", member, found)}
}

// looksLikeData reports whether a cell of the first line looks like a value and not like a
// column name: a number or an address.
func looksLikeData(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil || strings.Contains(cell, "@")
}
