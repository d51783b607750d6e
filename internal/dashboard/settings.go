package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// settingsPage is one tab of the settings: a list, and what can be made there.
type settingsPage struct {
	Tabs  []entry
	Name  string
	Text  string
	Empty string
	New   *act
	Heads []head
	Rows  [][]cell
	More  bool
}

// head is the head of a column.
type head struct {
	Name    string
	P2, Num bool
}

// cell is one cell of a table.
type cell struct {
	Text, Link, Sub string
	Code, Num, P2   bool
	Sign            *sign
	At              time.Time
	Acts            []act
}

// act is something that a person can do: a link to a page, or a button of a form.
type act struct {
	Name, Path, Of string
	Scope          string
	Post, Danger   bool
}

// tabs are the settings; scope is what one needs to see them.
var tabs = []struct{ name, path, scope string }{{"Actions", "actions", "read"}, {"Connections", "connections", "read"},
	{"Templates", "templates", "read"}, {"Webhooks", "webhooks", "read"}, {"Tenants", "tenants", "read"}, {"API keys", "keys", "admin"}, {"Audit log", "audit", "admin"}}

// settingsTabs returns the tabs that the person may use.
func (v *visit) settingsTabs(current string) (list []entry) {
	for _, t := range tabs {
		if v.has(t.scope) {
			list = append(list, entry{Name: t.name, Path: "/settings/" + t.path, Current: t.name == current})
		}
	}
	return list
}

// kind is a kind of settings that have a name or an id: how they are listed, edited and deleted.
type kind[T any] struct {
	tab, path, noun string
	scope           string // what a change needs
	text, empty     string
	heads           []head
	of              func(*client.Client) client.Collection[T]
	name            func(*T) string
	title           func(*T) string // for people
	row             func(*visit, *T) []cell
	inputs          func(*visit, *T) []*input
	read            func(*visit, *sheet, *T)
	origin          func(*T) (p api.Provenance, file bool) // file: the configuration file has another value
	// owners returns the tenants of one, an empty list for all; nil: whoever sees one may change it.
	owners func(*T) []string
	// made: new ones have another form.
	made bool
	// gone says what deleting it means.
	gone func(*T) []fact
	// verbs are more things to do in the row.
	verbs func(*T) []act
	// every says that all of them exist, with default values.
	every bool
	weir  string
}

// mostSettings is how many settings of a kind a page lists.
const mostSettings = 500

// register makes the pages of a kind.
func register[T any](d *Dashboard, k *kind[T]) {
	base := "/settings/" + k.path
	d.page(base, "settings", k.list)
	if !k.made {
		d.sheet("/settings/new/"+k.noun, k.blank, k.create)
	}
	d.sheet(base+"/{name}/edit", k.edit, k.change)
	d.page(base+"/{name}/delete", "confirm", func(ctx context.Context, v *visit) (content, error) {
		q, err := k.ask(ctx, v)
		if err != nil {
			return content{}, err
		}
		return v.ask(q, "Settings"), nil
	})
	d.form(base+"/{name}/delete", k.remove)
}

func (k *kind[T]) list(ctx context.Context, v *visit) (content, error) {
	all, err := collect(k.of(v.api).List(ctx), mostSettings+1)
	if err != nil {
		return content{}, err
	}
	page := settingsPage{Tabs: v.settingsTabs(k.tab), Name: k.tab, Text: k.text, Empty: k.empty, More: len(all) > mostSettings,
		Heads: append(slices.Clone(k.heads), head{}), New: &act{Name: "New " + k.noun, Path: "/settings/new/" + k.noun, Scope: k.scope}}
	for i := range all[:min(len(all), mostSettings)] {
		x := &all[i]
		var acts []act
		if k.verbs != nil {
			acts = k.verbs(x)
		}
		acts = append(acts, k.changes(v, x)...)
		page.Rows = append(page.Rows, append(k.row(v, x), cell{Acts: acts}))
	}
	return content{Title: k.tab, Nav: "Settings", Page: page, Weir: []string{k.weir}}, nil
}

// blank makes the form of a new one.
func (k *kind[T]) blank(_ context.Context, v *visit) (*sheet, error) {
	var x T
	s := k.sheet(v, &x)
	s.Title, s.Button, s.Stay, s.Once = "New "+k.noun, "Create the "+k.noun, "Create nothing", true
	s.Inputs = append([]*input{{Name: "name", Label: "Name", Needed: true, Hint: "Letters, digits, dots, hyphens and underscores."}}, s.Inputs...)
	return s, nil
}

func (k *kind[T]) sheet(v *visit, x *T) *sheet {
	return &sheet{nav: "Settings", Up: "/settings/" + k.path, UpName: k.tab, Scope: k.scope, Inputs: k.inputs(v, x)}
}

var errExists = errors.New("exists already")

func (k *kind[T]) create(ctx context.Context, v *visit, s *sheet) (done, error) {
	name := s.at("name").Value
	if name == "" {
		s.at("name").Fault = "Write a name."
		return done{}, s.again(v)
	}
	_, err := k.save(ctx, v, s, name, true)
	if errors.Is(err, errExists) {
		s.at("name").Fault = "Another " + k.noun + " has this name."
		return done{}, s.again(v)
	}
	return done{To: "/settings/" + k.path, Note: note{Text: name + " is created."}}, err
}

// save writes what the form says over what is there.
func (k *kind[T]) save(ctx context.Context, v *visit, s *sheet, name string, fresh bool) (T, error) {
	var probe T
	k.read(v, s, &probe)
	if s.bad() {
		return probe, s.again(v)
	}
	return k.of(v.api).Change(ctx, name, func(x *T) error {
		if fresh && !k.every && k.name(x) != "" {
			return errExists
		}
		k.read(v, s, x)
		return nil
	})
}

// edit makes the form of one that exists. What the program defines is shown, and cannot be changed.
func (k *kind[T]) edit(ctx context.Context, v *visit) (*sheet, error) {
	x, err := k.of(v.api).Get(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	s := k.sheet(v, &x)
	s.Title, s.Button, s.Scope, s.shows = k.title(&x), "Save the "+k.noun, k.need(v, &x), true
	if k.origin == nil {
		return s, nil
	}
	p, file := k.origin(&x)
	s.Text = originText(v, p, file)
	if p.Origin == "program" {
		s.fix()
	}
	return s, nil
}

// originText says where a setting comes from.
func originText(v *visit, p api.Provenance, file bool) string {
	switch {
	case p.Origin == "program":
		return "It comes from the program, and can be changed only there."
	case p.Origin == "file":
		return "It comes from the configuration file. A change here applies instead, also after restarts, until it is deleted here."
	case file:
		return fmt.Sprintf("Changed by %s, %s. The configuration file has another value, which applies again if this one is deleted.", cmp.Or(p.ChangedBy, "unknown"), v.clock.Time(p.ChangedAt))
	case p.ChangedBy != "":
		return fmt.Sprintf("Changed by %s, %s.", p.ChangedBy, v.clock.Time(p.ChangedAt))
	}
	return ""
}

// originCell is the column that says where a setting comes from.
func originCell(p api.Provenance, file bool) cell {
	text := map[string]string{"program": "Program", "file": "Configuration file", "api": "Changed here", "default": "Default"}[p.Origin]
	if file {
		text += ", over the file"
	}
	return cell{Text: cmp.Or(text, "–"), P2: true}
}

func (k *kind[T]) change(ctx context.Context, v *visit, s *sheet) (done, error) {
	if s.Button == "" {
		return done{}, fmt.Errorf("%w: it comes from the program", errNotNow)
	}
	x, err := k.save(ctx, v, s, v.PathValue("name"), false)
	if err != nil {
		return done{}, err
	}
	return done{To: "/settings/" + k.path, Note: note{Text: k.title(&x) + " is saved.", Then: "All servers use it within a second."}}, nil
}

func (k *kind[T]) ask(ctx context.Context, v *visit) (*question, error) {
	x, err := k.of(v.api).Get(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	q := &question{Title: "Delete " + k.title(&x) + "?", Up: "/settings/" + k.path, UpName: k.tab, Scope: k.need(v, &x), Facts: k.gone(&x),
		Button: "Delete the " + k.noun, Stay: "Keep it", NoReason: true}
	if k.origin != nil {
		if p, file := k.origin(&x); file {
			q.Title, q.Button = "Reset "+k.title(&x)+"?", "Reset to the configuration file"
		} else if p.Origin == "file" || p.Origin == "program" {
			return nil, fmt.Errorf("%w: %s", errNotNow, strings.ToLower(originText(v, p, file)))
		}
	}
	return q, nil
}

func (k *kind[T]) remove(ctx context.Context, v *visit) (done, error) {
	q, err := k.ask(ctx, v)
	if err == nil {
		err = v.answered(q, "Settings")
	}
	if err == nil {
		err = k.of(v.api).Delete(ctx, v.PathValue("name"))
	}
	verb := " delete "
	if k.every {
		verb = " reset "
	}
	return done{To: "/settings/" + k.path, Note: note{Text: "The " + k.noun + " is deleted.", Weir: []string{"weir " + k.path + verb + quoted(v.PathValue("name"))}}}, err
}

// need returns what it takes to change one.
func (k *kind[T]) need(v *visit, x *T) string {
	if k.owners == nil {
		return k.scope
	}
	return v.needFor(k.scope, k.owners(x))
}

// changes returns what changes one: change, and delete if it comes from here. What cannot be changed can be looked at.
func (k *kind[T]) changes(v *visit, x *T) []act {
	at := "/settings/" + k.path + "/" + escape(k.name(x))
	var from api.Provenance
	if k.origin != nil {
		from, _ = k.origin(x)
	}
	if from.Origin == "program" || !v.may(k.need(v, x)) {
		return []act{{Name: "Show", Of: k.title(x), Path: at + "/edit"}}
	}
	list := []act{{Name: "Change", Of: k.title(x), Path: at + "/edit"}}
	if from.Origin != "file" {
		list = append(list, act{Name: "Delete", Of: k.title(x), Path: at + "/delete", Danger: true})
	}
	return list
}
