package service

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
)

// Hidden stands for a secret in responses. Sent back in a change, it keeps the stored secret.
const Hidden = "[secret]"

// Match decides whether a record may be replaced. version is the version of the existing record,
// empty if it does not exist. An error ends the change.
type Match func(version string) error

// maxName bounds the length of user-defined names.
const maxName = 128

// checkName refuses names that are not valid in a path, a label or a lane.
func checkName(field, name string) error {
	good := name != "" && len(name) <= maxName
	for i := 0; i < len(name) && good; i++ {
		c := name[i]
		good = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
	}
	if good && name != "." && name != ".." {
		return nil
	}
	return &weir.FieldError{Code: "bad_name", Field: field, Problem: fmt.Sprintf("%.64q is not a valid name", name), Fix: "use letters, digits, '.', '-' and '_', at most 128"}
}

// there reports whether the action was not deleted.
func (a *storedAction) there() bool { return !a.Deleted }

// putRecord writes a record if match allows it to replace the existing one. A record for which
// there returns false counts as missing. After a concurrent write it starts over, so match always
// sees the record that is replaced.
func putRecord[T any](ctx context.Context, t *records.Table[T], name string, match Match, there func(*T) bool, change func(v *T, found bool) error) (records.Entry[T], error) {
	for {
		e, err := t.Get(ctx, name)
		stored := err == nil
		if !stored && !errors.Is(err, weir.ErrNotFound) {
			return e, err
		}
		found, version := stored && there(&e.Value), ""
		if found {
			version = e.Version
		}
		if err := match(version); err != nil {
			return e, err
		}
		var refused error
		changed := func(v *T) error { refused = change(v, found); return refused }
		if stored {
			e, err = t.UpdateIf(ctx, name, e.Version, changed)
		} else {
			var v T
			if err = changed(&v); err == nil {
				e, err = t.Insert(ctx, name, v)
			}
		}
		switch meanwhile := errors.Is(err, records.ErrChanged) || errors.Is(err, records.ErrExists) || stored && errors.Is(err, weir.ErrNotFound); {
		case refused != nil:
			return e, refused
		case !meanwhile || ctx.Err() != nil:
			return e, err
		}
	}
}

// Actions lists the actions by name, with secrets hidden.
func (s *Service) Actions(ctx context.Context) ([]api.Action, error) {
	if err := s.actions.refresh(ctx); err != nil {
		return nil, err
	}
	var out []api.Action
	for _, name := range s.actions.names() {
		if a, err := s.actions.find(name); err == nil && !a.deleted {
			out = append(out, s.actions.shown(a))
		}
	}
	return out, nil
}

// Action returns one action, with secrets hidden, and its version. Actions of the program and the
// file have no version.
func (s *Service) Action(ctx context.Context, name string) (a api.Action, version string, err error) {
	if fixed := s.actions.program[name]; fixed != nil {
		return s.actions.shown(fixed), "", nil
	}
	e, err := s.actions.table.Get(ctx, name)
	if err == nil && e.Value.Deleted {
		err = weir.ErrNotFound
	}
	if file := s.actions.file[name]; file != nil && errors.Is(err, weir.ErrNotFound) {
		return s.actions.shown(file), "", nil
	}
	if err != nil {
		return a, "", err
	}
	made, err := s.actions.take(e)
	if err != nil {
		return a, "", err
	}
	return s.actions.shown(made), e.Version, nil
}

// shown returns an action as responses show it, together with the file's settings if they differ.
func (r *actions) shown(a *action) api.Action {
	out := a.shown()
	if file := r.file[a.Name]; file != nil && file != a && r.program[a.Name] == nil {
		said := file.shown()
		out.File = &said
	}
	return out
}

// shown returns the action as responses show it.
func (a *action) shown() api.Action {
	out := a.Action
	out.Secret = hide(out.Secret)
	out.Header = hideAll(out.Header)
	return out
}

func hide(secret string) string {
	if secret == "" {
		return ""
	}
	return Hidden
}

func hideAll(secrets map[string]string) map[string]string {
	out := maps.Clone(secrets)
	for k := range out {
		out[k] = Hidden
	}
	return out
}

// PutAction creates or changes an HTTP action. All nodes follow within a second, also for running
// bulk actions. Restarts keep it, whatever the configuration file says. May decides whether the
// caller may change the existing action.
func (s *Service) PutAction(ctx context.Context, a api.Action, by string, match Match, may func(api.Action) error) (out api.Action, version string, err error) {
	if err := checkName("name", a.Name); err != nil {
		return out, "", err
	}
	if err := s.notProgram(a.Name); err != nil {
		return out, "", err
	}
	a.Kind, a.Provenance, a.File, a.Undo = "", api.Provenance{}, nil, false
	e, err := putRecord(ctx, s.actions.table, a.Name, match, (*storedAction).there, func(v *storedAction, found bool) error {
		if err := s.replaceAction(v, found, a, may); err != nil {
			return err
		}
		v.Set = stampOf(by)
		return nil
	})
	if err != nil {
		return out, "", err
	}
	made, err := s.actions.take(e)
	if err != nil {
		return out, "", err
	}
	s.engine.KnowActions(a.Name)
	return s.actions.shown(made), e.Version, nil
}

// replaceAction returns the record of an action that replaces another.
func (s *Service) replaceAction(v *storedAction, found bool, a api.Action, may func(api.Action) error) error {
	before := api.Action{Name: a.Name}
	switch file := s.actions.file[a.Name]; {
	case found:
		before = v.Action
		if err := may(before); err != nil {
			return err
		}
	case file != nil:
		if err := may(file.Action); err != nil {
			return err
		}
	}
	sealed, err := s.actions.keepSecrets(a, before)
	if err != nil {
		return err
	}
	open, err := s.actions.open(sealed)
	if err != nil {
		return err
	}
	if _, err := s.actions.prepare(open); err != nil {
		return err
	}
	*v = storedAction{Action: sealed}
	return nil
}

// keepSecrets seals the secrets of an action, and keeps the stored ones where the request sends
// Hidden.
func (r *actions) keepSecrets(a, before api.Action) (api.Action, error) {
	if a.Secret == Hidden {
		a.Secret = before.Secret
	}
	a.Header = maps.Clone(a.Header)
	for k, v := range a.Header {
		if v != Hidden {
			continue
		}
		if before.Header[k] == "" {
			return a, &weir.FieldError{Code: "bad_value", Field: "header." + k, Problem: "no stored value to keep", Fix: "send the value"}
		}
		a.Header[k] = before.Header[k]
	}
	if err := noSealed(a.Secret, before.Secret, "secret"); err != nil {
		return a, err
	}
	for k, v := range a.Header {
		if err := noSealed(v, before.Header[k], "header."+k); err != nil {
			return a, err
		}
	}
	return r.seal(a)
}

// noSealed refuses a value that looks sealed: it would be stored unchanged and could never be
// opened.
func noSealed(value, before, field string) error {
	if vault.IsSealed(value) && value != before {
		return &weir.FieldError{Code: "bad_value", Field: field, Problem: "is a sealed secret", Fix: "send the plain value; the server seals it before it is stored"}
	}
	return nil
}

// notProgram refuses to change an action of the program.
func (s *Service) notProgram(name string) error {
	if s.actions.program[name] == nil {
		return nil
	}
	return &Refusal{Code: "in_use", Detail: fmt.Sprintf("action %q comes from the program", name), Fix: "change the program, or choose another name"}
}

// DeleteAction removes an action that was created over the API. If the configuration file has an
// action of this name, that one applies again. Otherwise new bulk actions cannot use it, and
// running ones keep it.
func (s *Service) DeleteAction(ctx context.Context, name string, match Match, may func(api.Action) error) error {
	if err := s.notProgram(name); err != nil {
		return err
	}
	e, err := putRecord(ctx, s.actions.table, name, match, (*storedAction).there, func(v *storedAction, found bool) error {
		if !found && s.actions.file[name] != nil {
			return fromFile("the settings of action", name)
		}
		if !found {
			return weir.ErrNotFound
		}
		if err := may(v.Action); err != nil {
			return err
		}
		v.Deleted = true
		return nil
	})
	if err != nil {
		return err
	}
	_, err = s.actions.take(e)
	return err
}
