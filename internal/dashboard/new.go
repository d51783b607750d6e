package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// newPages registers the wizard that makes a bulk action. Its state is a draft of the API, which holds the description and
// names the data: an upload or a source. Nothing of the draft runs before the last button, and every page can be loaded
// again, or be open twice.
func (d *Dashboard) newPages() {
	d.page("/new", "new-chain", d.newChain)
	d.form("/new", d.createDraft)
	d.page("/new/{id}", "new-chain", d.changeChain)
	d.form("/new/{id}", d.saveChain)
	d.page("/new/{id}/data", "new-data", d.newData)
	d.upload("/new/{id}/data", d.takeData)
	d.page("/new/{id}/data/choice", "new-choice", d.newChoice)
	d.form("/new/{id}/data/choice", d.saveChoice)
	d.form("/new/{id}/source", d.saveSource)
	d.page("/new/{id}/mapping", "new-mapping", d.newMapping)
	d.form("/new/{id}/mapping", d.saveMapping)
	d.download("/new/{id}/bad-rows.csv", badRows)
	d.download("/new/{id}/duplicates.csv", repeatedRows)
	d.page("/new/{id}/rules", "new-rules", d.newRules)
	d.form("/new/{id}/rules", d.saveRules)
	d.page("/new/{id}/forecast", "new-forecast", d.newForecast)
	d.form("/new/{id}/trial", d.tryDraft)
	d.page("/new/{id}/start", "confirm", d.confirmStart)
	d.form("/new/{id}/start", d.startDraft)
	d.page("/new/{id}/delete", "confirm", d.confirmDelete)
	d.form("/new/{id}/delete", d.deleteDraft)
}

// wizard is what all steps of the wizard show.
type wizard struct {
	ID    string // of the draft; empty: it does not exist yet
	Name  string
	Bulk  api.BulkAction
	Draft api.NewBulkAction
	// Made is the template that the draft is made from, nil if it is not or the template is gone.
	Made  *api.Template
	From  string // template, or how many steps of a chain, and the tenant
	Steps []wizardStep
	// Faults holds what is wrong by field, and Rest what belongs to no field of the page.
	Faults map[string]string
	Rest   []string
	// Check is what the data of the draft is worth, nil while it has no data or they cannot be read.
	Check    *api.DataCheck
	DataGone string // why the data cannot be read
	goneAt   string // the field of the API that this is about, empty if it has none
}

// wizardStep is one step of the wizard.
type wizardStep struct {
	Name, Path    string
	Current, Past bool
}

// stepNames are the steps of the wizard, with their addresses below the draft.
var stepNames = []wizardStep{{Name: "Template or chain"}, {Name: "Data", Path: "/data"}, {Name: "Mapping", Path: "/mapping"},
	{Name: "Rules", Path: "/rules"}, {Name: "Forecast", Path: "/forecast"}}

// at says which step a page is, from 0.
func (w *wizard) at(no int) {
	w.Steps = slices.Clone(stepNames)
	reached := len(w.Steps)
	if w.ID == "" {
		reached = 0
	} else if w.Draft.Source == nil {
		reached = 2
	}
	for i := range w.Steps {
		s := &w.Steps[i]
		s.Path, s.Current, s.Past = "/new/"+w.ID+s.Path, i == no, i != no && i < reached
	}
}

// content makes the page of a step.
func (w *wizard) content(no int, page any) content {
	w.at(no)
	return content{Title: "New bulk action, step " + format.Count(int64(no+1)) + " of 5: " + strings.ToLower(stepNames[no].Name), Nav: "Bulk actions", Page: page}
}

// Own reports whether the draft is a chain of its own, and not made from a template, which has its own rules.
func (w *wizard) Own() bool { return w.Draft.Template == "" }

// Items is how many items would run, 0 if that is not known.
func (w *wizard) Items() int64 {
	if w.Check == nil || !w.Check.Complete {
		return 0
	}
	return w.Check.Items
}

// Canary is how many items run first, 0 without a canary or if that is not known.
func (w *wizard) Canary() int64 { return canaryOf(w.Bulk.Canary, w.Items()) }

// Seen sums up what would run: steps, rules, and where the rows are. A file that is uploaded instead has another id.
func (w *wizard) Seen() string {
	raw, _ := json.Marshal(w.Draft) // plain data
	return seenOf(string(raw))
}

// HasData reports whether the draft has data that can be read.
func (w *wizard) HasData() bool { return w.Draft.Source != nil && w.DataGone == "" }

// readAs says whether bad rows are left out, and whether the first of rows with the same id is kept.
func (w *wizard) readAs() (out, first bool) {
	bad, same := w.Draft.OnBadLine, w.Draft.Duplicates
	if w.Made != nil {
		bad, same = cmp.Or(w.Made.BulkAction.OnBadLine, bad), cmp.Or(w.Made.BulkAction.Duplicates, same)
	}
	return bad == "record", same == "keep_first" || same == "keep_all"
}

// Folds reports whether the template reads ids regardless of capitals.
func (w *wizard) Folds() bool { return w.Made != nil && w.Made.BulkAction.FoldIDs }

// Asks reports whether the draft decides about on_bad_line, duplicates or fold_ids, because no template does.
func (w *wizard) Asks(rule string) bool {
	if w.Made == nil {
		return w.Own()
	}
	if rule == "fold_ids" {
		return !w.Made.BulkAction.FoldIDs
	}
	return rule == "on_bad_line" && w.Made.BulkAction.OnBadLine == "" || rule == "duplicates" && w.Made.BulkAction.Duplicates == ""
}

// Blocks says why the data cannot be used as they are, empty if they can.
func (w *wizard) Blocks() string {
	out, first := w.readAs()
	switch {
	case w.DataGone != "":
		return w.DataGone
	case w.NoID() != "":
		return "Choose the column that identifies each row."
	case w.Check.Rows == 0:
		return "The data has no rows. Choose data with at least one row."
	case w.Check.Items == 0:
		return "No row can be used. Correct the data or the mapping."
	case w.Check.BadLines > 0 && !out:
		return "Leave the bad rows out, or upload a corrected file."
	case w.Check.Duplicates > 0 && !first:
		return "Keep the first row of each id, or upload a corrected file."
	}
	return ""
}

// NoID says why no column is known to identify the rows, empty if one does.
func (w *wizard) NoID() string {
	c := w.Check
	if c == nil || c.ItemID != "" || len(c.Faults) == 0 {
		return ""
	}
	unopened := c.Rows == 0 // a file is not read without its id column
	without := c.Items == 0 && c.BadLines == c.Rows && !slices.ContainsFunc(c.Kinds, func(k api.BadLines) bool { return k.Code != "missing_id" })
	if !unopened && !without {
		return ""
	}
	return format.Stop(c.Faults[0].Message)
}

// open reads the draft of a page.
func (v *visit) open(ctx context.Context) (*wizard, error) {
	w := &wizard{ID: v.PathValue("id"), Faults: map[string]string{}}
	var err error
	if w.Bulk, err = v.api.Get(ctx, w.ID); err != nil {
		return nil, err
	}
	w.Name = w.Bulk.Name
	if w.Bulk.State != api.Draft || w.Bulk.Source == nil && w.Bulk.Counts.Total > 0 {
		return nil, v.left(w)
	}
	if w.Draft, err = v.api.Draft(ctx, w.ID); err != nil {
		return nil, err
	}
	w.From = format.Plural(int64(len(w.Bulk.Steps)), "step", "steps") + " of your own"
	if name := w.Draft.Template; name != "" {
		w.From = "From the template " + name
		if t, err := v.api.Templates().Get(ctx, name); err == nil {
			w.Made = &t
			w.From = "From the template " + titleOf(&t)
		}
	}
	w.From += ", for " + w.Bulk.Tenant
	return w, nil
}

// openChecked reads the draft of a page and checks its data.
func (v *visit) openChecked(ctx context.Context, faults int) (*wizard, error) {
	w, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	return w, v.check(ctx, w, faults)
}

// check tells which rows of the draft can be used.
func (v *visit) check(ctx context.Context, w *wizard, faults int) error {
	w.Check, w.DataGone, w.goneAt = nil, "", ""
	if w.Draft.Source == nil {
		w.DataGone = "This draft has no data yet. Choose a file, paste rows, or name a source."
		return nil
	}
	c, err := v.api.Check(ctx, w.ID, faults)
	p := refusal(err)
	switch {
	case err == nil:
		w.Check = &c
	case p != nil && slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Status):
		w.DataGone = inSentences(p.Detail, p.Fix)
		if len(p.Errors) > 0 { // the detail begins with the name of the field, which a page shows otherwise
			w.DataGone, w.goneAt = inSentences(p.Errors[0].Message, p.Errors[0].Fix), p.Errors[0].Field
		}
	default:
		return err
	}
	return nil
}

// gonePage is shown instead of the wizard for a bulk action that is not a draft any more.
type gonePage struct {
	Bulk api.BulkAction
	Text string
}

// left says that a draft cannot be edited by the wizard any more.
func (v *visit) left(w *wizard) error {
	p := gonePage{Bulk: w.Bulk, Text: "It is not a draft any more: " + strings.ToLower(signOf(w.Bulk.State).Word) + ". What was set here applies."}
	if w.Bulk.State == api.Draft {
		p.Text = "Its " + format.Items(w.Bulk.Counts.Total) + " were added by a program. Such a draft is described and started by that program."
	}
	return &pageInstead{pageAgain{"new-gone", content{Title: w.Name, Nav: "Bulk actions", Page: p}}, http.StatusConflict}
}

// refuse puts what the API found wrong at the fields of a page. place returns the field of the page, empty if it has none.
// An error that is not about the request is returned.
func (w *wizard) refuse(err error, place func(field string) string) error {
	p := refusal(err)
	if p == nil || p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusConflict && p.Status != http.StatusBadRequest {
		return err
	}
	faults := p.Errors
	if len(faults) == 0 {
		faults = []api.Fault{{Message: p.Detail, Fix: p.Fix}}
	}
	for _, f := range faults {
		text := inSentences(f.Message, f.Fix)
		if at := place(f.Field); at != "" {
			if w.Faults[at] == "" {
				w.Faults[at] = text
			}
			continue
		}
		w.Rest = append(w.Rest, strings.TrimPrefix(f.Field+": "+text, ": "))
	}
	return nil
}

// Bad marks a field that is wrong, for those who hear the page.
func (w *wizard) Bad(field string) template.HTMLAttr {
	if w.Faults[field] == "" {
		return ""
	}
	return template.HTMLAttr(`aria-invalid="true" aria-describedby="e-` + template.HTMLEscapeString(field) + `"`) //nolint:gosec // escaped
}

// Err is what is wrong with a field, for the part err.
func (w *wizard) Err(field string) map[string]string {
	if w.Faults[field] == "" {
		return nil
	}
	return map[string]string{"At": "e-" + field, "Text": w.Faults[field]}
}

// Wrong returns what is wrong with fields of the page, each with the id of its element, for the top of the page.
func (w *wizard) Wrong() (list []fact) {
	for _, field := range slices.Sorted(maps.Keys(w.Faults)) {
		if text := w.Faults[field]; text != "" && text != w.DataGone { // a page says itself that the data is gone
			list = append(list, fact{"e-" + field, text})
		}
	}
	return list
}

// inSentences writes a fault and what to do about it as sentences.
func inSentences(problem, fix string) string {
	text := sentence(problem)
	if fix != "" {
		text += " " + sentence(fix)
	}
	return text
}

// sentence writes a text with a capital and a full stop. A name or an id at its beginning stays as it is.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	first, _, _ := strings.Cut(s, " ")
	if word := strings.TrimRight(first, ",;"); strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" && word != "" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return format.Stop(s)
}

// describe saves a change of the draft's description.
func (v *visit) describe(ctx context.Context, w *wizard, edit func(*api.NewBulkAction)) error {
	n := w.Draft
	edit(&n)
	after, err := v.api.Describe(ctx, w.ID, n)
	if err != nil {
		return err
	}
	w.Draft = after
	w.Bulk, err = v.api.Get(ctx, w.ID)
	return err
}

// titleOf is what people call a template.
func titleOf(t *api.Template) string {
	if t.Title != "" {
		return t.Title
	}
	return t.Name
}
