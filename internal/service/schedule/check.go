package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/plain"
)

// Bounds of a [Spec].
const (
	MaxName     = 128       // bytes
	MaxTemplate = 256 << 10 // bytes
)

// Check fills in defaults and checks a spec that begins now; the [weir.InputError] lists
// everything that is wrong.
func (s *Spec) Check(now time.Time) error {
	var in weir.InputError
	s.checkRest(&in)
	s.checkTimes(&in, now)
	return in.OrNil()
}

// checkRest checks all but the times, which may have passed when a schedule is changed.
func (s *Spec) checkRest(in *weir.InputError) {
	s.checkText(in)
	if s.Overlap == "" {
		s.Overlap = Skip
	}
	if s.Overlap != Skip && s.Overlap != Queue && s.Overlap != Allow {
		in.Add("bad_value", "overlap", fmt.Sprintf("%q is not an overlap policy", shorten(string(s.Overlap))), "write skip, queue or allow")
	}
	s.CatchUp = s.CatchUp.withDefaults()
	if w := s.CatchUp.Window; w < MinWindow || w > MaxWindow {
		in.Add(codeRange, "catch_up.window", fmt.Sprintf("%v is not between %v and %v", w, MinWindow, MaxWindow), "leave it out for the default")
	}
}

// checkText checks name, tenant and template.
func (s *Spec) checkText(in *weir.InputError) {
	switch {
	case s.Name == "":
		in.Add("missing_field", "name", "is missing", "name the schedule")
	case len(s.Name) > MaxName:
		in.Add(codeRange, "name", fmt.Sprintf("has %d bytes of at most %d", len(s.Name), MaxName), "shorten it")
	case strings.ContainsFunc(s.Name, plain.Refused):
		in.Add("bad_text", "name", "has control characters or some that turn text around, or is not UTF-8", "remove them")
	case plain.Blank(s.Name):
		in.Add("bad_text", "name", "has nothing that can be seen", "name the schedule")
	}
	if s.Tenant == "" {
		in.Add("missing_field", "tenant", "is missing", "name the tenant that owns the bulk actions")
	}
	switch {
	case len(s.Template) == 0:
		in.Add("missing_field", "template", "is missing", "say which bulk action to create")
	case len(s.Template) > MaxTemplate:
		in.Add(codeRange, "template", fmt.Sprintf("has %d bytes of at most %d", len(s.Template), MaxTemplate),
			"have it read its items from a source")
	case !json.Valid(s.Template):
		in.Add("bad_json", "template", "is not JSON", "write a JSON object")
	}
}

// checkTimes checks when it fires.
func (s *Spec) checkTimes(in *weir.InputError, now time.Time) {
	switch {
	case s.Cron == "" && s.At.IsZero():
		in.Add(codeTime, "cron", "is missing, and so is at", "write one of them")
		return
	case s.Cron != "" && !s.At.IsZero():
		in.Add(codeTime, "at", "cannot be combined with cron", "write one of them")
		return
	case s.Cron == "":
		if err := checkStart("at", s.At, now); err != nil {
			add(in, err)
		}
	}
	times, err := s.Times()
	if err != nil {
		add(in, err)
		return
	}
	first := times.Next(now.Add(-PastGrace))
	if !s.End.IsZero() && !first.IsZero() && first.After(s.End) {
		in.Add(codeRange, "end", fmt.Sprintf("%s is before the first time, %s", s.End.Format(time.RFC3339), first.Format(time.RFC3339)),
			"write a later end, or leave it out")
	}
}

// add adds a field error to the others.
func add(in *weir.InputError, err error) {
	var f *weir.FieldError
	if errors.As(err, &f) {
		in.Fields = append(in.Fields, f)
	}
}
