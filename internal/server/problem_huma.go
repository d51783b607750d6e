package server

import (
	"cmp"
	"encoding"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir/api"
)

// maxFaults limits the faults of a request in one response.
const maxFaults = 20

// ofHuma turns what huma found wrong with a request into a problem.
func ofHuma(status int, msg string, errs []error, h hints) *problem {
	p := newProblem("bad_request", msg, "")
	if status != http.StatusUnprocessableEntity {
		p = newProblem(codeOfStatus(status), msg, "")
		p.Status = status
	}
	if msg == "request body is required" {
		p.Detail, p.Fix = "the body is empty", "send a JSON object"
	}
	for i, err := range errs {
		if err == nil || i >= maxFaults {
			continue
		}
		var ready *problem
		if errors.As(err, &ready) {
			return ready
		}
		p.Errors = append(p.Errors, faultOf(err, h))
	}
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		again := newProblem(first.Code, first.Message, first.Fix)
		if first.Field != "" {
			again.Detail = first.Field + ": " + first.Message
		}
		again.Errors = p.Errors
		if inQuery(errs[0]) {
			again.Status = http.StatusBadRequest
		}
		return again
	}
	return p
}

// inQuery reports whether a fault is of the URL: what is wrong there is not of the thing itself.
func inQuery(err error) bool {
	var d *huma.ErrorDetail
	return errors.As(err, &d) && strings.HasPrefix(d.Location, "query.")
}

// faultOf reads one of huma's messages.
func faultOf(err error, h hints) api.Fault {
	var d *huma.ErrorDetail
	if !errors.As(err, &d) {
		return api.Fault{Code: "bad_request", Message: err.Error()}
	}
	if f, ok := textFault(d); ok {
		return f
	}
	f := api.Fault{Field: strings.TrimPrefix(d.Location, "body."), Message: d.Message, Value: shorten(d.Value)}
	f.Field = strings.TrimPrefix(strings.TrimPrefix(f.Field, "query."), "path.")
	if maySecret(f.Field) {
		f.Value = ""
	}
	switch {
	case strings.HasPrefix(d.Message, validation.MsgUnexpectedProperty):
		f.Code, f.Message, f.Fix = "unknown_field", "unknown field", h.unknown(d.Location)
	case strings.HasPrefix(d.Message, "unknown query parameter") && d.Location == "query.sort":
		f.Code, f.Message, f.Fix = "bad_filter", "lists cannot be sorted: each has one order, which its cursors depend on", "leave it out"
	case strings.HasPrefix(d.Message, "unknown query parameter"):
		f.Code, f.Message, f.Fix = "bad_query", "unknown parameter", h.unknown(d.Location)
	case d.Message == validation.MsgExpectedNumber:
		f.Code, f.Fix = "bad_number", h.mistyped(d)
	case outOfBounds(&f, d.Message):
		switch {
		case strings.HasPrefix(d.Location, "query.") && strings.HasPrefix(d.Message, said(validation.MsgExpectedOneOf)):
			f.Code = "bad_filter"
		case strings.HasPrefix(d.Message, said(validation.MsgExpectedMaxLength)) && isURL(f.Field):
			f.Code = "bad_url"
		case f.Field == "steps":
			f.Code = "too_many_steps"
		}
	case strings.HasPrefix(d.Location, "query.") && strings.HasPrefix(d.Message, "required "):
		f.Code, f.Message, f.Fix = "missing_field", "is missing", "add it to the query, as in ?"+f.Field+"=…"
	case strings.HasPrefix(d.Location, "query."):
		f.Code = "out_of_range"
	case strings.HasPrefix(d.Message, validation.MsgExpectedInteger):
		f.Code, f.Fix = "bad_number", h.mistyped(d)
	case strings.HasPrefix(d.Message, said(validation.MsgExpectedRequiredProperty)):
		f.Field = missingField(d)
		f.Code, f.Message, f.Fix = "missing_field", "is missing", "give it a value"
	default:
		f.Code, f.Fix = "bad_value", h.mistyped(d)
	}
	return f
}

// textFault is the fault of a body that has a rate, a duration or a whole number which cannot be read.
// The decoder says what is wrong with it but not where it is: the body is looked through for it.
func textFault(d *huma.ErrorDetail) (api.Fault, bool) {
	raw, ok := d.Value.(string)
	if !ok || d.Location != "body" {
		return api.Fault{}, false
	}
	for dec := jsontext.NewDecoder(strings.NewReader(raw)); ; {
		tok, err := dec.ReadToken()
		if err != nil {
			return api.Fault{}, false
		}
		where := dec.StackPointer()
		if tok.Kind() == '0' && !isUsers(where) && strings.Contains(d.Message, "cannot unmarshal number "+tok.String()+" into") {
			return api.Fault{Code: "bad_number", Field: fieldOf(where), Value: shorten(tok.String()),
				Message: "is not a whole number", Fix: "write it in digits alone, as in 1000"}, true
		}
		if tok.Kind() == '"' && !isUsers(where) {
			for _, v := range []encoding.TextUnmarshaler{new(api.Rate), new(api.Duration)} {
				if err := v.UnmarshalText([]byte(tok.String())); err != nil && strings.HasSuffix(d.Message, err.Error()) {
					problem, fix, _ := strings.Cut(err.Error(), "; ")
					fix = cmp.Or(fix, "write it as in 500/s or 30/m, or unlimited")
					return api.Fault{Code: "bad_value", Field: fieldOf(where), Value: shorten(tok.String()), Message: problem, Fix: fix}, true
				}
			}
		}
	}
}

// outOfBounds fills in a fault if the message of the validation is about a bound.
func outOfBounds(f *api.Fault, message string) bool {
	for _, b := range bounds {
		if bound, ok := strings.CutPrefix(message, said(b.found)); ok {
			with := strings.NewReplacer("{}", strings.Trim(bound, ` "`))
			f.Code, f.Message, f.Fix = cmp.Or(b.code, "out_of_range"), with.Replace(b.problem), with.Replace(b.fix)
			return true
		}
	}
	return false
}

// said returns the beginning of a message of the validation, up to the value in it. Its messages are all that tells its
// errors apart.
func said(message string) string {
	before, _, _ := strings.Cut(message, "%")
	return before
}

// bounds says in our words what the validation of a request says in its own; {} is the bound.
var bounds = []struct{ found, code, problem, fix string }{
	{validation.MsgExpectedOneOf, "bad_value", "is not an allowed value", "choose one of {}"},
	{validation.MsgExpectedMinimumNumber, "", "is less than {}", "write {} or more"},
	{validation.MsgExpectedMaximumNumber, "", "is more than {}", "write {} or less"},
	{validation.MsgExpectedMinLength, "", "has fewer than {} characters", "write at least {}"},
	{validation.MsgExpectedMaxLength, "", "has more than {} characters", "shorten it to {}"},
	{validation.MsgExpectedMinItems, "", "has fewer than {} entries", "write at least {}"},
	{validation.MsgExpectedMaxItems, "", "has more than {} entries", "leave out all but {}"},
	{validation.MsgExpectedRFC3339DateTime, "bad_value", "is not a time", "write it as in 2026-01-31T18:00:00Z"},
	{"invalid integer", "", "is not a whole number", "write digits alone, as in 50"},
}

// isURL reports whether a field is one for a URL: what is wrong with it is told by one code, its length too.
func isURL(field string) bool {
	return field == "url" || strings.HasSuffix(field, ".url") || strings.HasSuffix(field, "_url")
}

// missingField is the field that a message says is missing.
func missingField(d *huma.ErrorDetail) string {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	name := strings.TrimSuffix(strings.TrimPrefix(d.Message, before), after)
	if at := strings.TrimPrefix(strings.TrimPrefix(d.Location, "body"), "."); at != "" {
		return at + "." + name
	}
	return name
}
