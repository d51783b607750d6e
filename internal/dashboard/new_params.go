package dashboard

import (
	"bytes"
	"encoding/json"

	"github.com/weirhq/weir/api"
)

// paramField is a parameter of a template as a field of a form.
type paramField struct {
	api.TemplateParam
	Label string
	Text  string // what is in the field
	// Options are the values to choose from; none: it is typed.
	Options []choice
	// Input is the type of the field, Least and Most its bounds, Shortest and Longest those of its length.
	Input, Step, Least, Most, Shortest, Longest string
	Hint                                        string
}

// fieldsOf makes the fields of a template's parameters: with what was typed, what was given before, or the defaults.
func fieldsOf(t *api.Template, given json.RawMessage, typed func(string) string) (fields []paramField) {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(given, &values) // without any, fields have their defaults
	for _, p := range t.Params {
		f := paramField{TemplateParam: p, Label: p.Title}
		if f.Label == "" {
			f.Label = p.Name
		}
		switch value, ok := values[p.Name]; {
		case typed != nil:
			f.Text = typed("p-" + p.Name)
		case ok:
			f.Text = plainText(value)
		default:
			f.Text = plainText(p.Default)
		}
		f.kind()
		fields = append(fields, f)
	}
	return fields
}

// kind says how a parameter is entered.
func (f *paramField) kind() {
	least, most := plainText(f.Min), plainText(f.Max)
	f.Input, f.Least, f.Most = "text", "", ""
	between := func(what string) string {
		switch {
		case least != "" && most != "":
			return what + " from " + least + " to " + most
		case least != "":
			return what + " of at least " + least
		case most != "":
			return what + " of at most " + most
		}
		return what
	}
	switch f.Type {
	case "number":
		f.Input, f.Step, f.Least, f.Most, f.Hint = "number", "any", least, most, between("Number")
	case "integer":
		f.Input, f.Step, f.Least, f.Most, f.Hint = "number", "1", least, most, between("Whole number")
	case "date":
		f.Input, f.Least, f.Most, f.Hint = "date", least, most, between("Date")
	case "boolean":
		f.options([]json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}, "Yes", "No")
	default:
		f.Shortest, f.Longest = least, most
		if least != "" || most != "" {
			f.Hint = between("Text") + " characters"
		}
	}
	if len(f.Allowed) > 0 {
		f.Options = nil
		f.options(f.Allowed)
		f.Hint = ""
	}
	if !f.Required && f.Default == nil {
		f.Hint = joinHint(f.Hint, "optional")
	}
}

func joinHint(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// options lets a person choose from values. A value that need not be given can be left open.
func (f *paramField) options(values []json.RawMessage, names ...string) {
	if !f.Required && f.Default == nil || f.Text == "" {
		f.Options = append(f.Options, choice{Name: "–", Current: f.Text == ""})
	}
	for i, v := range values {
		o := choice{Value: plainText(v), Name: plainText(v)}
		if i < len(names) {
			o.Name = names[i]
		}
		o.Current = o.Value == f.Text
		f.Options = append(f.Options, o)
	}
}

// plainText writes a JSON value as a field shows it.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// valuesOf makes the parameters of fields. A text that is not of the type is sent as text: the API says what is wrong.
func valuesOf(fields []paramField) json.RawMessage {
	values := map[string]json.RawMessage{}
	for _, f := range fields {
		if f.Text == "" {
			continue
		}
		quoted, err := json.Marshal(f.Text)
		if err != nil {
			continue // a text can always be written
		}
		values[f.Name] = quoted
		var number json.Number
		dec := json.NewDecoder(bytes.NewReader([]byte(f.Text)))
		dec.UseNumber()
		switch f.Type {
		case "number", "integer":
			if dec.Decode(&number) == nil && json.Valid([]byte(f.Text)) {
				values[f.Name] = json.RawMessage(f.Text)
			}
		case "boolean":
			if f.Text == "true" || f.Text == "false" {
				values[f.Name] = json.RawMessage(f.Text)
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return nil // they are valid
	}
	return raw
}
