package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/core/plain"
)

// MaxName bounds the length of user-defined names.
const MaxName = 128

// Name refuses names that are not valid in a path, a label or a lane.
func Name(field, name string) error {
	good := name != "" && len(name) <= MaxName
	for i := 0; i < len(name) && good; i++ {
		c := name[i]
		good = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
	}
	if good && name != "." && name != ".." {
		return nil
	}
	return &weir.FieldError{Code: "bad_name", Field: field, Problem: fmt.Sprintf("%.64q is not a valid name", name),
		Fix: "use letters, digits, '.', '-' and '_', at most 128"}
}

// Tenant refuses invalid tenant names.
func Tenant(field, name string) error {
	fix := "use at most 128 printable characters"
	if name == "" || len(name) > MaxName {
		return &weir.FieldError{Code: "bad_text", Field: field,
			Problem: fmt.Sprintf("has %d bytes, not 1 to %d", len(name), MaxName), Fix: fix}
	}
	if unprintable(name) >= 0 {
		return &weir.FieldError{Code: "bad_text", Field: field, Problem: "has a control character or is not UTF-8", Fix: fix}
	}
	return nil
}

// Tier reads a tier.
func Tier(name string) (weir.Tier, error) {
	tier, err := weir.ParseTier(name)
	if err != nil {
		return 0, &weir.FieldError{Code: "bad_value", Field: "tier", Problem: fmt.Sprintf("%.40q is not a tier", name),
			Fix: "write critical, high, default or low"}
	}
	return tier, nil
}

// Text adds what is wrong with a short text.
func Text(bad *weir.InputError, field, text string) {
	if printable(bad, field, text) && len(text) > MaxName {
		bad.Add("bad_text", field, fmt.Sprintf("has %d bytes, more than 128", len(text)), "shorten it")
	}
}

// Bounds on what describes a bulk action: every list and page of it has the labels, and every call the parameters.
const (
	MaxLabels     = 64
	MaxLabelName  = 63
	MaxLabelValue = 256
	MaxParams     = 64 << 10
)

// Labels checks the names and values of labels: lists and logs show them unchanged.
func Labels(bad *weir.InputError, labels map[string]string) {
	if len(labels) > MaxLabels {
		bad.Add("out_of_range", "labels", fmt.Sprintf("has %d entries, more than %d", len(labels), MaxLabels),
			fmt.Sprintf("leave out all but %d", MaxLabels))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		field, value := fmt.Sprintf("labels[%.64q]", name), labels[name]
		if printable(bad, field, name) && (name == "" || len(name) > MaxLabelName) {
			bad.Add("bad_text", field, fmt.Sprintf("the name has %d bytes, not 1 to %d", len(name), MaxLabelName),
				fmt.Sprintf("use a name of 1 to %d bytes", MaxLabelName))
		}
		if printable(bad, field, value) && len(value) > MaxLabelValue {
			bad.Add("bad_text", field, fmt.Sprintf("the value has %d bytes, more than %d", len(value), MaxLabelValue), "shorten it")
		}
	}
}

// Params checks the size of parameters.
func Params(bad *weir.InputError, params []byte) {
	if len(params) > MaxParams {
		bad.Add("out_of_range", "params", fmt.Sprintf("has %d bytes, more than %d", len(params), MaxParams),
			"shorten it; put what differs between items into the items")
	}
}

// printable refuses control characters and invalid UTF-8, and reports whether the text is fine.
func printable(bad *weir.InputError, field, text string) bool {
	i := unprintable(text)
	if i >= 0 {
		bad.Add("bad_text", field, fmt.Sprintf("has a control character or one that turns text around, or is not UTF-8, at byte %d", i), "use printable characters")
		return false
	}
	if plain.Blank(text) {
		bad.Add("bad_text", field, "has nothing that can be seen", "use printable characters, or leave it empty")
		return false
	}
	return true
}

// unprintable returns where a text has a control character or is not UTF-8; -1: nowhere.
func unprintable(text string) int { return strings.IndexFunc(text, plain.Refused) }

// Add adds the faults of err to bad. An error without a field of its own gets this code and field.
func Add(bad *weir.InputError, err error, code, field string) {
	if !AddUnder(bad, "", err) {
		bad.Add(code, field, err.Error(), "")
	}
}

// AddUnder adds the faults of err to bad, with their fields under a prefix, and reports whether it
// could.
func AddUnder(bad *weir.InputError, prefix string, err error) bool {
	var many *weir.InputError
	var one *weir.FieldError
	switch {
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = &weir.InputError{Fields: []*weir.FieldError{one}}
	default:
		return false
	}
	for _, f := range many.Fields {
		bad.Add(f.Code, prefix+f.Field, f.Problem, f.Fix)
	}
	return true
}

// MaxNamed bounds the names in a fix.
const MaxNamed = 20

// Known returns the fix for an unknown name: the known names and the closest match. none is
// returned if the list is empty.
func Known(name string, known []string, none string) string {
	if len(known) == 0 {
		return none
	}
	fix := "known: " + strings.Join(known[:min(len(known), MaxNamed)], ", ")
	if word := near.Word(name, known); word != "" {
		fix = fmt.Sprintf("did you mean %s? %s", word, fix)
	}
	return fix
}
