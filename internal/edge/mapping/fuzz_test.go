package mapping

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

var seeds = []string{
	`item.user_id`, `'Reward ' + steps.award.output.reward_id`, `any(item.tags, # == "vip")`, `steps["send-message"].done`,
	`let x = item.amount; x * x - 1`, `map(item.tags, upper(#)) | join("+")`, `item?.a?.b ?? params.c`, `format(date(item.born), "2006")`,
	`{"a": [1, 2.5, nil, true], "b": hash(item)}`, `code == "timeout" && attempts > 2`, `message matches "^a+$"`, `-9223372036854775807 - 1`,
	`item[id]`, `item.tags[-1:]`, `"\xff"`, `b"x"`, `#`, `$env`, `steps`, `1..2`, `item.a() + {}`, `if true { 1 } else { 2 }`,
}

// No expression and no item causes a panic, and every result is JSON.
func FuzzProgram(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, anItem.Data)
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		it := anItem
		it.Data = data
		if p, err := Compile(Step{Input: map[string]string{"x": text, "y": "item.a"}}, earlier); err == nil {
			out, err := p.Input(it)
			if err == nil && !json.Valid(out) {
				t.Errorf("%q of %q is not valid JSON: %q", text, data, out)
			}
			again, err2 := p.Input(it)
			if string(out) != string(again) || (err == nil) != (err2 == nil) {
				t.Errorf("%q gives %q and %q", text, out, again)
			}
		} else if !utf8.ValidString(err.Error()) && utf8.ValidString(text) {
			t.Errorf("%q: the error is not valid text: %q", text, err)
		}
		if p, err := Compile(Step{When: text}, earlier); err == nil {
			_, _ = p.When(it)
		}
	})
}

// No filter causes a panic.
func FuzzFilter(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, anItem.Data, "a message")
	}
	f.Fuzz(func(_ *testing.T, text string, data []byte, message string) {
		if c, err := CompileFilter("filter", text); err == nil {
			_, _ = c.Match(Row{ID: message, Message: message, Item: data, Output: data, Attempts: len(text)})
		}
	})
}

// The check ends for every schema and document.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(aSchema), anItem.Data)
	f.Add([]byte(`{"$ref":"#"}`), []byte(`1`))
	f.Fuzz(func(t *testing.T, schema, doc []byte) {
		s, err := CompileSchema("schema", schema)
		if err != nil {
			return
		}
		if got := s.Check("x", doc); len(got) > MaxMismatches {
			t.Errorf("%d faults", len(got))
		}
	})
}
