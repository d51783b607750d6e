package source

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Names says by which names members of an item are known: each name with the member or column of the data that holds it.
type Names map[string]string

// Rename returns a document with its members renamed. A member whose name another one takes is left out. A document that is not
// a JSON object is returned as it is.
func (n Names) Rename(doc []byte) []byte {
	if len(n) == 0 || !jsontext.Value(doc).IsValid() || jsontext.Value(doc).Kind() != '{' {
		return doc
	}
	out := []byte{'{'}
	add := func(quoted, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), value...)
	}
	for quoted, value := range members(doc) {
		column := unquote(quoted)
		known := n.of(column)
		for _, name := range known {
			as, err := jsontext.AppendQuote(nil, name)
			if err != nil {
				return doc // names were checked
			}
			add(as, value)
		}
		if _, taken := n[column]; !taken && len(known) == 0 {
			add(quoted, value)
		}
	}
	return append(out, '}')
}

// of returns the names of a column, sorted.
func (n Names) of(column string) (out []string) {
	for name, from := range n {
		if from == column {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
