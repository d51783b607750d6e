package model

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// setters set one field each from its text, by name.
type setters map[string]func(text string) error

// With is w with one field of a resource, a bulk action or a tenant changed: path
// is its name and the field, as in send-message.rate. w itself stays as it is.
func (w World) With(path, value string) (World, error) {
	w = w.clone()
	name, field, found := cutLast(path)
	if !found {
		return w, &weir.FieldError{Code: "unknown_field", Field: path, Problem: "does not name a field",
			Fix: "write it as in send-message.rate=450/s"}
	}
	var known []string
	for _, s := range settersOf(&w, name) {
		if set := s[field]; set != nil {
			if err := set(value); err != nil {
				return w, &weir.FieldError{Code: "invalid", Field: path, Problem: err.Error()}
			}
			return w, nil
		}
		for f := range s { // sorted below, so their order does not reach the caller
			known = append(known, f)
		}
	}
	if known == nil {
		return w, &weir.FieldError{Code: "unknown_name", Field: path,
			Problem: fmt.Sprintf("unknown resource, bulk action or tenant %q", name), Fix: w.nameList()}
	}
	slices.Sort(known)
	return w, &weir.FieldError{Code: "unknown_field", Field: path, Problem: fmt.Sprintf("%s has no field %q", name, field),
		Fix: "known: " + strings.Join(known, ", ")}
}

// cutLast splits a path at its last dot.
func cutLast(path string) (name, field string, found bool) {
	i := strings.LastIndexByte(path, '.')
	if i <= 0 || i == len(path)-1 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}

// clone is w without anything that a change of it would share.
func (w World) clone() World {
	w.Resources, w.Tenants, w.BulkActions = slices.Clone(w.Resources), slices.Clone(w.Tenants), slices.Clone(w.BulkActions)
	return w
}

// settersOf finds everything of that name.
func settersOf(w *World, name string) (found []setters) {
	for i := range w.Resources {
		if w.Resources[i].Name == name {
			found = append(found, w.Resources[i].setters())
		}
	}
	tenant := false
	for i := range w.BulkActions {
		b := &w.BulkActions[i]
		tenant = tenant || b.Tenant == name
		if b.Name == name {
			found = append(found, b.setters())
		}
	}
	if tenant {
		found = append(found, tenantSetters(w, name))
	}
	return found
}

func (r *Resource) setters() setters {
	d := &r.Downstream
	return setters{
		"rate": text(&r.Rate), "concurrency": whole(&r.Concurrency), "timeout": text(&r.Timeout),
		"attempts": whole(&r.Attempts), "flow": word(&r.Flow), "pacing": word(&r.Pacing),
		"latency": r.setLatency, "p99": text(&d.P99), "failures": text(&d.Failures), "retries": text(&d.Retries),
		"rejects":  text(&d.Rejects),
		"capacity": text(&d.Capacity), "overload": word(&d.Overload), "retry_after": text(&d.RetryAfter),
	}
}

// setLatency changes the mean and takes the 99th percentile along.
func (r *Resource) setLatency(value string) error {
	d, was := &r.Downstream, r.Downstream.Latency
	if err := d.Latency.UnmarshalText([]byte(value)); err != nil {
		return err
	}
	if was > 0 {
		d.P99 = Span(float64(d.P99) * float64(d.Latency) / float64(was))
	}
	return nil
}

func (b *BulkAction) setters() setters {
	return setters{
		"items": whole(&b.Items), "items_p99": whole(&b.ItemsP99), "arrivals": text(&b.Arrivals), "at": text(&b.At),
		"until": text(&b.Until),
		"tier":  word(&b.Tier), "priority": whole(&b.Priority), "deadline": text(&b.Deadline), "batch": whole(&b.Batch),
	}
}

// tenantSetters lists a tenant that was not listed before.
func tenantSetters(w *World, name string) setters {
	return setters{"weight": func(value string) error {
		weight, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number; the default is 1", value)
		}
		i := slices.IndexFunc(w.Tenants, func(t Tenant) bool { return t.Name == name })
		if i < 0 {
			i, w.Tenants = len(w.Tenants), append(w.Tenants, Tenant{Name: name})
		}
		w.Tenants[i].Weight = weight
		return nil
	}}
}

// nameList tells what there is to change.
func (w World) nameList() string {
	var bulks []string
	for _, b := range w.BulkActions {
		bulks = append(bulks, b.Name)
	}
	return fmt.Sprintf("the resources are %s; the bulk actions are %s", strings.Join(w.ResourceNames(), ", "),
		strings.Join(bulks, ", "))
}

func text(to encoding.TextUnmarshaler) func(string) error {
	return func(s string) error { return to.UnmarshalText([]byte(s)) }
}

func word(to *string) func(string) error {
	return func(s string) error {
		*to = s
		return nil
	}
}

func whole[T int | int64](to *T) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
		*to = T(n)
		return nil
	}
}

// Loaded is w with so many times the work: more arrivals of streams, and larger
// bulk actions that come once.
func (w World) Loaded(factor float64) World {
	w = w.clone()
	for i := range w.BulkActions {
		b := &w.BulkActions[i]
		if b.Arrivals > 0 {
			b.Arrivals *= Rate(factor)
			continue
		}
		b.Items = max(1, int64(float64(b.Items)*factor+0.5))
		b.ItemsP99 = int64(float64(b.ItemsP99) * factor)
	}
	return w
}
