package block

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// validJSON is what callers of Check ask: names are unique, and texts are UTF-8.
func validJSON(doc []byte) bool { return jsontext.Value(doc).IsValid() }

// drawDocument draws a JSON document, and now and then something that only looks like one.
func drawDocument(t *rapid.T, depth int) string {
	kinds := []string{"number", "text", "word", "odd"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array")
	}
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "space")
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "number":
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
	case "word":
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case "odd":
		return rapid.SampledFrom([]string{"1", "01", "-", "1.", "nul", "+1", "1e", `"\x01"`, "\"\x80\"", `"\ud800"`, `"open`, ""}).Draw(t, "odd")
	case "text":
		raw, _ := json.Marshal(rapid.OneOf(rapid.StringN(0, 30, -1), rapid.StringMatching(`[a-z@.]{0,20}`)).Draw(t, "text")) // texts always have one
		return string(raw)
	case "array":
		parts := make([]string, rapid.IntRange(0, 3).Draw(t, "elements"))
		for i := range parts {
			parts[i] = drawDocument(t, depth-1)
		}
		return "[" + space + strings.Join(parts, ","+space) + "]"
	}
	parts := make([]string, rapid.IntRange(0, 4).Draw(t, "members"))
	for i := range parts {
		name := rapid.SampledFrom([]string{"id", "a", "b", "name", "é", `q\"`}).Draw(t, "name")
		parts[i] = `"` + name + `"` + space + ":" + space + drawDocument(t, depth-1)
	}
	return "{" + strings.Join(parts, ",") + space + "}"
}

func TestCheckSaysOfEveryDocumentWhatTheJSONPackageSays(t *testing.T) {
	c := newTestCodec(t)
	var b Builder // the same one all along: nothing of earlier blocks may show
	rapid.Check(t, func(t *rapid.T) {
		forms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawDocument(t, 3) }), 1, 6).Draw(t, "documents")
		var docs []item
		want := -1
		for i := range rapid.IntRange(1, 80).Draw(t, "items") {
			doc := rapid.SampledFrom(forms).Draw(t, "document")
			if strings.Contains(doc, "1") && rapid.Bool().Draw(t, "another value") {
				doc = strings.Replace(doc, "1", fmt.Sprint(i), 1) // mostly a number or a text of the same shape
			}
			docs = append(docs, item{fmt.Sprint("u", i), []byte(doc)})
			if want < 0 && !validJSON([]byte(doc)) {
				want = i
			}
		}
		fill(&b, docs)
		if bad := b.Check(validJSON); bad != want {
			t.Fatalf("Check = %d, want %d, of %q", bad, want, docs)
		}
		got, err := c.Open(c.Seal(nil, &b))
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		check(t, got, docs)
	})
}

func TestValuesAloneAreNotShownToTheJSONPackage(t *testing.T) {
	var b Builder
	for i := range 1000 {
		b.Add(fmt.Sprint("u", i), fmt.Appendf(nil, `{"id":"u%d","ok":%t,"name":"Zoë %d","n":-%d.5e3,"tags":["a","%d"]}`, i, i%2 == 0, i, i, i))
	}
	asked := 0
	if bad := b.Check(func(doc []byte) bool { asked++; return validJSON(doc) }); bad >= 0 || asked != 1 {
		t.Errorf("Check = %d and asked about %d documents of one shape, want -1 and 1", bad, asked)
	}
}

func TestDocumentsOfTooManyShapesStayAsTheyAre(t *testing.T) {
	c := newTestCodec(t)
	var docs []item
	for i := range Size {
		docs = append(docs, item{fmt.Sprint(i), fmt.Appendf(nil, `{"field%d":%d,"values":[1%s]}`, i, i, strings.Repeat(",1", i%(2*maxColumns)))})
	}
	var b Builder
	fill(&b, docs)
	if bad := b.Check(validJSON); bad >= 0 {
		t.Fatalf("Check = %d, want none", bad)
	}
	got, err := c.Open(c.Seal(nil, &b))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	check(t, got, docs)
}

func TestItemsOfAShapeTakeFewerBytesThanWithout(t *testing.T) {
	c := newTestCodec(t)
	for _, s := range samples {
		var b Builder
		s.fill(&b)
		before := len(c.Seal(nil, &b))
		b.Check(validJSON)
		if after := len(c.Seal(nil, &b)); after >= before {
			t.Errorf("a block of %s items takes %d bytes with their shape and %d without", s.name, after, before)
		}
	}
}
