package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weirhq/weir"
)

// docs checks JSON documents and takes the id out of them.
type docs struct {
	opts       Options
	transcoded bool   // the text came through a decoder, which marks bad bytes as U+FFFD
	id         string // member that holds the id; chosen at the first good object
}

func (d *docs) idMember() string { return d.id }

// ItemID returns the id of an item outside a file: the value of a member of its JSON document,
// which is checked first. The error has no line.
func ItemID(doc []byte, member string) (string, *RowError) {
	d := docs{opts: Options{}.withDefaults(), id: member}
	if bad := d.check(doc, 0, 0); bad != nil {
		return "", bad
	}
	value, _ := memberOf(doc, member)
	if value == nil {
		return "", noMember(member, namesOf(doc))
	}
	return d.idOf(value)
}

// namesOf returns the names of the members of a valid JSON object.
func namesOf(doc []byte) (names []string) {
	for name := range members(doc) {
		names = append(names, unquote(name))
	}
	return names
}

// CheckDocument returns what is wrong with the JSON document of an item outside a file.
func CheckDocument(doc []byte) *RowError {
	return (&docs{opts: Options{}.withDefaults()}).check(doc, 0, 0)
}

// item fills it from doc, which starts at line and col (bytes before it in the line).
func (d *docs) item(doc []byte, line, col int, it *Item) error {
	err := d.read(doc, line, col, it)
	if bad := (*RowError)(nil); d.opts.KeepRows && len(doc) <= d.opts.MaxItem && errors.As(err, &bad) {
		bad.Cells = []string{asText(doc)}
	}
	return err
}

func (d *docs) read(doc []byte, line, col int, it *Item) error {
	if bad := d.check(doc, line, col); bad != nil {
		return bad
	}
	if d.id == "" {
		if err := d.chooseMember(doc, line); err != nil {
			return err
		}
	}
	value, at := memberOf(doc, d.id)
	id, err := d.idOf(value)
	if err != nil {
		err.Line, err.Column, err.Field = line, 0, d.id
		if at > 0 && bytes.IndexByte(doc[:at], '\n') < 0 {
			err.Column = col + at + 1
		}
		return err
	}
	it.ID, it.Data, it.Line = id, doc, line
	return nil
}

// check requires one JSON object of a size that is allowed.
func (d *docs) check(doc []byte, line, col int) *RowError {
	if len(doc) > d.opts.MaxItem {
		return tooLarge(line, len(doc), d.opts.MaxItem)
	}
	// One pass checks syntax, UTF-8 and that no object has a member twice. Nothing is decoded.
	v := jsontext.Value(doc)
	if v.Kind() != jsontext.KindBeginObject || !v.IsValid() || d.transcoded && bytes.Contains(doc, replacement) {
		return d.diagnose(doc, line, col)
	}
	if tooDeep(doc) {
		return &RowError{Line: line, Code: CodeBadJSON, Problem: fmt.Sprintf("the item is nested more than %d deep", MaxDepth), Fix: "flatten it"}
	}
	return nil
}

// MaxDepth is how deep the JSON of an item may be nested, the same as that of a request.
const MaxDepth = 1000

// tooDeep reports whether a valid document is nested too deep.
func tooDeep(doc []byte) bool {
	if len(doc) < 2*MaxDepth || bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) <= MaxDepth { // most documents
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return false // the end
		}
		if dec.StackDepth() > MaxDepth {
			return true
		}
	}
}

// chooseMember names the id member for the whole file after the first good object that has one.
func (d *docs) chooseMember(doc []byte, line int) error {
	if d.id = d.opts.IDColumn; d.id != "" {
		return nil
	}
	names := namesOf(doc)
	i := detectID(names)
	if i < 0 {
		return noID(line, CodeMissingID, "member", names)
	}
	d.id = names[i]
	return nil
}

// idOf reads an id: text, or a whole number as it is written.
func (d *docs) idOf(value []byte) (string, *RowError) {
	if len(value) == 0 || string(value) == "null" {
		return "", missingID(d.id)
	}
	var id string
	switch c := value[0]; {
	case c == '"':
		id = unquote(value)
	case (c == '-' || c >= '0' && c <= '9') && !bytes.ContainsAny(value, ".eE"):
		id = string(value)
	default:
		return "", &RowError{
			Code: CodeBadID, Value: shorten(value),
			Problem: fmt.Sprintf("the id %q is neither text nor a whole number", d.id),
			Fix:     "write the id as a string",
		}
	}
	return id, checkID(id, d.id, d.opts.MaxID)
}

// CheckID returns what is wrong with the id of an item outside a file.
func CheckID(id, field string) *RowError {
	if bad := checkID(id, field, weir.MaxIDBytes); bad != nil {
		return bad
	}
	if !utf8.ValidString(id) {
		return &RowError{
			Code: CodeBadEncoding, Field: field, Value: shorten(id),
			Problem: fmt.Sprintf("the id %q is not UTF-8", field), Fix: "write it in UTF-8",
		}
	}
	return nil
}

// checkID refuses ids that are empty or too long, or that a store could not tell apart.
func checkID(id, field string, most int) *RowError {
	if len(id) > most {
		return &RowError{
			Code: CodeIDTooLong, Field: field, Value: shorten(id),
			Problem: fmt.Sprintf("the id has %d bytes, at most %d are allowed", len(id), most),
			Fix:     "use a shorter id, or another column as id",
		}
	}
	if strings.TrimSpace(id) == "" {
		bad := missingID(field)
		bad.Problem = field + " is empty"
		return bad
	}
	if strings.IndexByte(id, 0) >= 0 {
		return &RowError{
			Code: CodeBadEncoding, Field: field, Value: shorten(id),
			Problem: fmt.Sprintf("the id %q has a NUL character in it", field), Fix: "leave it out",
		}
	}
	return nil
}

func missingID(field string) *RowError {
	return &RowError{
		Code: CodeMissingID, Field: field,
		Problem: fmt.Sprintf("the id %q is missing", field), Fix: "give every item an id",
	}
}

func tooLarge(line, size, most int) *RowError {
	found := fmt.Sprintf("%d bytes", size)
	if size < 0 {
		found = "even more bytes"
	}
	return &RowError{
		Line: line, Code: CodeItemTooLarge,
		Problem: fmt.Sprintf("the item has %s, at most %d are allowed", found, most),
		Fix:     "keep large content elsewhere and put a reference to it in the item",
	}
}

var replacement = []byte("\uFFFD")

// diagnose finds out what is wrong with doc. It may be slow: it runs only for bad documents.
func (d *docs) diagnose(doc []byte, line, col int) *RowError {
	if at := badText(doc, d.transcoded); at >= 0 {
		return badEncoding(doc, at, line, col)
	}
	e := &RowError{Line: line, Column: col + 1, Code: CodeBadLine, Value: shorten(doc), Fix: "write one JSON object"}
	dec := jsontext.NewDecoder(bytes.NewReader(doc))
	value, err := dec.ReadValue()
	if err == nil && value.Kind() != '{' {
		e.Problem = "this is not a JSON object"
		return e
	}
	if err == nil {
		e.place(doc, int(dec.InputOffset()), line, col)
		e.Problem, e.Fix = "something follows after the JSON object", "write one JSON object per line"
		return e
	}
	syn, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok { // the decoder reports an unfinished document as a bare end of input
		e.place(doc, len(doc), line, col)
		e.Problem = "the JSON object is not finished"
		return e
	}
	e.place(doc, int(syn.ByteOffset), line, col)
	e.Problem = "this is not valid JSON: " + syn.Err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		e.Problem = "the JSON object is not finished"
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		e.Code, e.Field = CodeDuplicateKey, syn.JSONPointer.LastToken()
		e.Problem, e.Fix = fmt.Sprintf("the member %q appears twice", e.Field), "keep one of the two"
	}
	return e
}

// place sets the error's position to byte at of doc, which starts at line and col.
func (e *RowError) place(doc []byte, at, line, col int) {
	before := doc[:min(max(at, 0), len(doc))]
	e.Line, e.Column = line, col+len(before)+1
	if n := bytes.Count(before, []byte{'\n'}); n > 0 {
		e.Line, e.Column = line+n, len(before)-bytes.LastIndexByte(before, '\n')
	}
}

// badText returns the position of the first invalid text, or -1.
func badText(text []byte, transcoded bool) int {
	if transcoded {
		return bytes.Index(text, replacement)
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func badEncoding(text []byte, at, line, col int) *RowError {
	e := &RowError{
		Code: CodeBadEncoding, Value: fmt.Sprintf("% x", text[at:min(at+4, len(text))]),
		Problem: "these bytes are not text in the file's encoding", Fix: "save the file as UTF-8, or name its encoding",
	}
	e.place(text, at, line, col)
	return e
}
