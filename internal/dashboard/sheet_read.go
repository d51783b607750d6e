package dashboard

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// number reads a whole number; nothing is 0.
func (s *sheet) number(name string) int64 {
	i := s.at(name)
	if i.Value == "" {
		return 0
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(i.Value, ",", ""), 10, 64)
	if err != nil {
		i.Fault = "Write a whole number, such as 100."
	}
	return n
}

// real reads a number; nothing is 0.
func (s *sheet) real(name string) float64 {
	i := s.at(name)
	if i.Value == "" {
		return 0
	}
	n, err := strconv.ParseFloat(i.Value, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		i.Fault = "Write a number, such as 1.5."
		return 0
	}
	return n
}

// duration reads a span; nothing is 0.
func (s *sheet) duration(name string) (d api.Duration) {
	if i := s.at(name); i.Value != "" {
		if err := d.UnmarshalText([]byte(i.Value)); err != nil {
			i.Fault = err.Error()
		}
	}
	return d
}

// moment reads a local time of the viewer, as inputs of the type datetime-local write it; nothing is zero.
func (s *sheet) moment(name string, zone *time.Location) time.Time {
	i := s.at(name)
	if i.Value == "" {
		return time.Time{}
	}
	t, ok := momentIn(zone, i.Value)
	if !ok {
		i.Fault = "Write a date and a time, such as 2026-12-24 09:00."
	}
	return t
}

// momentIn reads a time of a zone, as inputs of the type datetime-local write it.
func momentIn(zone *time.Location, text string) (t time.Time, ok bool) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// list reads names that are separated by commas, spaces or lines.
func (s *sheet) list(name string) []string {
	return strings.FieldsFunc(s.at(name).Value, func(r rune) bool { return strings.ContainsRune(", \n\t", r) })
}

// pairs reads lines such as Name: value.
func (s *sheet) pairs(name string) map[string]string {
	i := s.at(name)
	var out map[string]string
	for n, line := range strings.Split(i.Value, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			i.Fault = "Line " + strconv.Itoa(n+1) + " has no colon; write each as Name: value."
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return out
}

// json reads a value of JSON; nothing is nil.
func (s *sheet) json(name string) json.RawMessage {
	i := s.at(name)
	if i.Value == "" {
		return nil
	}
	var any json.RawMessage
	if err := json.Unmarshal([]byte(i.Value), &any); err != nil {
		i.Fault = format.Stop("This is not JSON: " + err.Error())
	}
	return any
}
