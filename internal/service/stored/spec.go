// Package stored defines the parts of bulk actions that the service keeps in the store: in drafts,
// templates, schedules, and with every submitted bulk action.
//
// No type of the HTTP API is part of a record, so a change of package api cannot change what is
// stored: [Of] and the API methods translate between the two. The JSON names here are the stored
// format; testdata/stored.txt lists them. A name may be added, but never renamed or reused.
package stored

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Spec is a bulk action as it was requested. The secret of its callback is sealed.
type Spec struct {
	Name     string          `json:"name,omitempty"`
	Tenant   string          `json:"tenant,omitempty"`
	Template string          `json:"template,omitempty"`
	Steps    []Step          `json:"steps,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	ItemID   string          `json:"item_id,omitempty"`
	// Columns holds names that steps read, each with the member or column of the data that holds it.
	Columns    map[string]string `json:"columns,omitempty"`
	Items      []Item            `json:"items,omitempty"`
	Source     *Source           `json:"source,omitempty"`
	Duplicates string            `json:"duplicates,omitempty"`
	FoldIDs    bool              `json:"fold_ids,omitempty"`
	OnBadLine  string            `json:"on_bad_line,omitempty"`
	AllowEmpty bool              `json:"allow_empty,omitempty"`
	Start      bool              `json:"start,omitempty"`
	Rules
	StartAt  string            `json:"start_at,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	Callback *Callback         `json:"callback,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	KeepFor  Duration          `json:"keep_for,omitempty"`
}

// Rules holds the settings that can change while a bulk action runs.
type Rules struct {
	Tier        string          `json:"tier,omitempty"`
	Priority    int             `json:"priority,omitempty"`
	Concurrency int             `json:"concurrency,omitempty"`
	Rates       map[string]Rate `json:"rates,omitempty"`
	StopOn      *StopOn         `json:"stop_on,omitempty"`
	Canary      *Canary         `json:"canary,omitempty"`
	Deadline    time.Time       `json:"deadline,omitzero"`
}

// Step is one action of a bulk action.
type Step struct {
	ID        string            `json:"id,omitempty"`
	Action    string            `json:"action"`
	Input     map[string]string `json:"input,omitempty"`
	When      string            `json:"when,omitempty"`
	Otherwise string            `json:"otherwise,omitempty"`
}

// Name returns the name of the step in expressions and reports.
func (s *Step) Name() string { return cmp.Or(s.ID, s.Action) }

// Names returns the names of steps.
func Names(steps []Step) (names []string) {
	for i := range steps {
		names = append(names, steps[i].Name())
	}
	return names
}

// Item is one target of a bulk action.
type Item struct {
	ID   string          `json:"id"`
	Data json.RawMessage `json:"data,omitempty"`
}

// StopOn stops a bulk action when too many items fail.
type StopOn struct {
	FailureRate float64 `json:"failure_rate,omitempty"`
	MinItems    int64   `json:"min_items,omitempty"`
	MaxFailures int64   `json:"max_failures,omitempty"`
	Cancel      bool    `json:"cancel,omitempty"`
	KeepTrying  bool    `json:"keep_trying,omitempty"`
}

// Canary runs a part of the items first.
type Canary struct {
	Percent     float64  `json:"percent,omitempty"`
	Items       int64    `json:"items,omitempty"`
	Approve     string   `json:"approve,omitempty"`
	SuccessRate float64  `json:"success_rate,omitempty"`
	P95         Duration `json:"p95,omitempty"`
}

// Callback is an endpoint that is notified when a bulk action ends.
type Callback struct {
	URL    string   `json:"url"`
	Secret string   `json:"secret,omitempty"`
	Events []string `json:"events,omitempty"`
}

// IDColumn returns the column or member of the data that holds the ids; empty: it is detected.
func (s *Spec) IDColumn() string { return cmp.Or(s.Columns[cmp.Or(s.ItemID, "id")], s.ItemID) }

// MadeFrom names the template of a bulk action and its version at that time.
type MadeFrom struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Chosen holds what the request of a template says about reading its data, and the template may not.
type Chosen struct {
	Columns    map[string]string `json:"columns,omitempty"`
	Duplicates string            `json:"duplicates,omitempty"`
	FoldIDs    bool              `json:"fold_ids,omitempty"`
	OnBadLine  string            `json:"on_bad_line,omitempty"`
}

// Layout is how a table is written.
type Layout struct {
	Delimiter string `json:"delimiter"`
	BOM       bool   `json:"bom,omitempty"` // a reader of UTF-8 needs the mark: the file has it, or is in another encoding
}

// Extra holds the service's own data of a submitted bulk action. The engine keeps it with the bulk
// action and does not read it.
type Extra struct {
	Steps    []Step            `json:"steps"`
	Params   json.RawMessage   `json:"params,omitempty"`
	Source   *Source           `json:"source,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Canary   *Canary           `json:"canary,omitempty"`
	Callback *Callback         `json:"callback,omitempty"` // its secret is sealed
	BadLines int64             `json:"bad_lines,omitempty"`
	// How its items were read, to repeat it.
	ItemID     string            `json:"item_id,omitempty"`
	Columns    map[string]string `json:"columns,omitempty"`
	Duplicates string            `json:"duplicates,omitempty"`
	FoldIDs    bool              `json:"fold_ids,omitempty"`
	OnBadLine  string            `json:"on_bad_line,omitempty"`
	// Layout is how the file of its items was written; not set: they came from no table.
	Layout   *Layout   `json:"layout,omitempty"`
	KeepFor  Duration  `json:"keep_for,omitempty"`
	Rules    *Rules    `json:"rules,omitempty"` // that it was created with; not set: by an earlier release
	Schedule string    `json:"schedule,omitempty"`
	Slot     time.Time `json:"slot,omitzero"`
	From     *MadeFrom `json:"from,omitempty"` // the template it was created from
	UndoOf   string    `json:"undo_of,omitempty"`
	Note     string    `json:"note,omitempty"`
}

// ParseExtra decodes the service's data of a bulk action; it is empty for one not submitted over the
// API.
func ParseExtra(raw json.RawMessage) (x Extra, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &x)
	}
	return x, err
}

// CallbackIn returns the callback of the service's data of a bulk action; nil: it has none. Most have none, and then the
// data is not decoded.
func CallbackIn(raw json.RawMessage) (*Callback, error) {
	if !bytes.Contains(raw, []byte(`"callback"`)) {
		return nil, nil
	}
	x, err := ParseExtra(raw)
	return x.Callback, err
}

// Step returns step i as it was requested; names are the steps that the engine knows.
func (x *Extra) Step(names []string, i int) Step {
	if i < len(x.Steps) {
		return x.Steps[i]
	}
	return Step{ID: names[i], Action: names[i]}
}

// ActionOf returns the action of a step.
func (x *Extra) ActionOf(step string) string {
	for i := range x.Steps {
		if x.Steps[i].Name() == step {
			return x.Steps[i].Action
		}
	}
	return step
}

// Terms returns what lists find the bulk action by.
func (x *Extra) Terms() (terms []string) {
	for key, value := range x.Labels {
		terms = append(terms, LabelTerm(key), LabelTerm(key+"="+value))
	}
	slices.Sort(terms) // a repeat submits the same
	if x.From != nil {
		terms = append(terms, TemplateTerm(x.From.Name))
	}
	if x.UndoOf != "" {
		terms = append(terms, UndoTerm(x.UndoOf))
	}
	return terms
}

// LabelTerm returns the term of bulk actions with a label, key=value, or key for any value.
func LabelTerm(label string) string { return "label\x00" + label }

// TemplateTerm returns the term of bulk actions created from a template.
func TemplateTerm(name string) string { return "template\x00" + name }

// UndoTerm returns the term of bulk actions that undo one.
func UndoTerm(of string) string { return "undo_of\x00" + of }
