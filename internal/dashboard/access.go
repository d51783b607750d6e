package dashboard

import (
	"slices"
	"strings"
)

// ofAll begins the name of what a person needs to change something that all tenants share: the scope that follows, and a
// key that is not bound to tenants.
const ofAll = "all:"

// has reports whether the person has a scope.
func (v *visit) has(scope string) bool {
	return slices.Contains(v.who.Scopes, scope) || slices.Contains(v.who.Scopes, "admin")
}

// operates reports whether the person sees what all tenants share, as the API decides it.
func (v *visit) operates() bool { return len(v.who.Tenants) == 0 || v.has("control") }

// covers reports whether the person sees every tenant in the list; an empty list means all.
func (v *visit) covers(tenants []string) bool {
	if len(v.who.Tenants) == 0 {
		return true
	}
	return len(tenants) > 0 && !slices.ContainsFunc(tenants, func(t string) bool { return !slices.Contains(v.who.Tenants, t) })
}

// needFor returns what it takes to change something of these tenants; an empty list means all.
func (v *visit) needFor(scope string, tenants []string) string {
	if v.covers(tenants) {
		return scope
	}
	return ofAll + scope
}

// lack says why the person may not do something, and who may; it is empty if the person may. The API decides by the same rule.
func (v *visit) lack(need string) string {
	scope, all := strings.CutPrefix(need, ofAll)
	switch {
	case need == "":
	case v.readOnly:
		return "The pages of this server only show: its operator has switched changes off here."
	case !v.has(scope):
		return "Your key lacks the scope " + scope + ", which this needs. Ask an administrator for a key that has it."
	case all && len(v.who.Tenants) > 0:
		return "This is shared by all tenants, and your key is bound to some. Ask an operator, whose key is not."
	}
	return ""
}

// may reports whether the person may do what needs a scope, or a scope for all tenants.
func (v *visit) may(need string) bool { return v.lack(need) == "" }

// lackError means that a page is nothing but a form that the person may not use.
type lackError struct{ says string }

// Error implements error.
func (e *lackError) Error() string { return e.says }

// needing is the content of a page that is nothing but a form.
type needing interface{ need() string }

func (q *question) need() string { return q.Scope }
func (w *wizard) need() string   { return "submit" }

func (s *sheet) need() string {
	if s.shows {
		return "" // without its button, it still shows something
	}
	return s.Scope
}

// allowed refuses a page that is nothing but a form that the person may not use.
func (v *visit) allowed(page any) error {
	form, ok := page.(needing)
	if !ok {
		return nil
	}
	if says := v.lack(form.need()); says != "" {
		return &lackError{says}
	}
	return nil
}

// Can reports whether the person may do what needs a scope, or a scope for all tenants.
func (f *frame) Can(need string) bool { return f.visit.may(need) }

// Lack says why the person may not do something, and who may. Where the pages only show, nothing has to be said.
func (f *frame) Lack(need string) string {
	if f.ReadOnly {
		return ""
	}
	return f.visit.lack(need)
}
