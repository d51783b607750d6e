package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
)

// All lists the actions by name, with secrets hidden.
func (r *Actions) All(ctx context.Context) ([]api.Action, error) {
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	var out []api.Action
	for _, name := range r.Names() {
		if a, err := r.Find(name); err == nil && !a.Deleted {
			out = append(out, r.shown(a))
		}
	}
	return out, nil
}

// Get returns one action, with secrets hidden, and its version. Actions of the program and the
// file have no version.
func (r *Actions) Get(ctx context.Context, name string) (a api.Action, version string, err error) {
	if fixed := r.program[name]; fixed != nil {
		return r.shown(fixed), "", nil
	}
	e, err := r.table.Get(ctx, name)
	if err == nil && e.Value.Deleted {
		err = weir.ErrNotFound
	}
	if file := r.file[name]; file != nil && errors.Is(err, weir.ErrNotFound) {
		return r.shown(file), "", nil
	}
	if err != nil {
		return a, "", err
	}
	made, err := r.take(e)
	if err != nil {
		return a, "", err
	}
	return r.shown(made), e.Version, nil
}

// shown returns an action as responses show it, together with the file's settings if they differ.
func (r *Actions) shown(a *Action) api.Action {
	out := a.shown()
	if file := r.file[a.Name]; file != nil && file != a && r.program[a.Name] == nil {
		said := file.shown()
		out.File = &said
	}
	return out
}

// shown returns the action as responses show it.
func (a *Action) shown() api.Action {
	out := a.Action
	if out.Secret != "" {
		out.Secret = Hidden
	}
	out.Header = hideAll(out.Header)
	return out
}

// Put creates or changes an HTTP action. All nodes follow within a second, also for running
// bulk actions. Restarts keep it, whatever the configuration file says. May decides whether the
// caller may change the existing action.
func (r *Actions) Put(ctx context.Context, a api.Action, by string, match records.Match,
	may func(api.Action) error) (out api.Action, version string, err error) {
	if err := check.Name("name", a.Name); err != nil {
		return out, "", err
	}
	if err := r.notProgram(a.Name); err != nil {
		return out, "", err
	}
	a.Kind, a.Provenance, a.File, a.Undo = "", api.Provenance{}, nil, false
	e, err := r.table.PutIf(ctx, a.Name, match, (*storedAction).there, func(v *storedAction, found bool) error {
		if err := r.replace(v, found, a, may); err != nil {
			return err
		}
		v.Set = Stamp(by)
		return nil
	})
	if err != nil {
		return out, "", err
	}
	made, err := r.take(e)
	if err != nil {
		return out, "", err
	}
	if r.announce != nil {
		r.announce(a.Name)
	}
	return r.shown(made), e.Version, nil
}

// replace returns the record of an action that replaces another.
func (r *Actions) replace(v *storedAction, found bool, a api.Action, may func(api.Action) error) error {
	before := api.Action{Name: a.Name}
	switch file := r.file[a.Name]; {
	case found:
		before = v.api()
		if err := may(before); err != nil {
			return err
		}
	case file != nil:
		if err := may(file.Action); err != nil {
			return err
		}
	}
	var err error
	if a.Secret, err = sealOne(r.vault, "action/"+a.Name, "secret", a.Secret, before.Secret); err == nil {
		a.Header, err = sealAll(r.vault, "action/"+a.Name, "header", a.Header, before.Header)
	}
	if err != nil {
		return err
	}
	open, err := r.open(a)
	if err == nil {
		_, err = r.prepare(open)
	}
	if err == nil {
		*v = actionRecord(&a)
	}
	return err
}

// notProgram refuses to change an action of the program.
func (r *Actions) notProgram(name string) error {
	if r.program[name] == nil {
		return nil
	}
	return &check.Refusal{Code: "in_use", Detail: fmt.Sprintf("action %q comes from the program", name),
		Fix: "change the program, or choose another name"}
}

// Delete removes an action that was created over the API. If the configuration file has an
// action of this name, that one applies again. Otherwise new bulk actions cannot use it, and
// running ones keep it.
func (r *Actions) Delete(ctx context.Context, name string, match records.Match, may func(api.Action) error) error {
	if err := r.notProgram(name); err != nil {
		return err
	}
	e, err := r.table.PutIf(ctx, name, match, (*storedAction).there, func(v *storedAction, found bool) error {
		if !found && r.file[name] != nil {
			return FromFile("the settings of action", name)
		}
		if !found {
			return weir.ErrNotFound
		}
		if err := may(v.api()); err != nil {
			return err
		}
		v.Deleted = true
		return nil
	})
	if err != nil {
		return err
	}
	_, err = r.take(e)
	return err
}
