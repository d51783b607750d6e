package dashboard

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
)

// mappingPage is step 3: which column is the id, what each step receives, and which rows can be used.
type mappingPage struct {
	*wizard
	IDs     []choice // columns to choose the id from; none: it is typed
	ItemID  string
	Maps    []stepMap
	Reads   []readRow // of a template
	Preview previewTable
	Unused  []string
	// Out says that bad rows are left out, First that the first of rows with the same id is kept.
	Out, First bool
	Shown      int64 // items that the button promised before the form was sent
	Changed    bool  // the form has changed that number
	unsaved    bool  // the draft is as the form says, and was not saved
}

// Checked reports whether a person has looked at the mapping and saved it: before that no column is named as the id.
func (p *mappingPage) Checked() bool { return p.Draft.ItemID != "" && !p.unsaved }

// Unsaved reports whether the page shows what was typed and is not saved, because something is wrong with it.
func (p *mappingPage) Unsaved() bool { return p.unsaved }

// badShown is how many bad rows the page lists; the file has all.
const badShown = 50

func (d *Dashboard) newMapping(ctx context.Context, v *visit) (content, error) {
	w, err := v.openChecked(ctx, badShown)
	if err != nil {
		return content{}, err
	}
	p := &mappingPage{wizard: w}
	if err := p.fill(ctx, v); err != nil {
		return content{}, err
	}
	return p.page(), nil
}

// page shows the page.
func (p *mappingPage) page() content {
	c := p.content(2, p)
	c.Weir = []string{"weir check " + p.ID, "weir preview " + p.ID}
	return c
}

// fill makes the page of the draft.
func (p *mappingPage) fill(ctx context.Context, v *visit) error {
	p.Out, p.First = p.readAs()
	p.ItemID = p.Draft.ItemID
	var columns []string
	if p.Check != nil {
		columns = p.Check.Columns
		if p.Check.ItemID != "" && (!p.unsaved || p.ItemID == "") {
			p.ItemID = p.Check.ItemID
		}
		p.Shown, p.Reads = p.Check.Items, readsOf(p.Check)
		if p.unsaved {
			choose(p.Reads, p.Draft.Columns)
		}
	}
	if len(columns) > 0 && !slices.Contains(columns, p.ItemID) {
		p.ItemID = "" // a choice shows it: the data has no such column
	}
	for _, c := range columns {
		p.IDs = append(p.IDs, choice{Value: c, Name: c, Current: c == p.ItemID})
	}
	if err := p.fillMaps(ctx, v, columns); err != nil {
		return err
	}
	for _, c := range columns {
		if c != p.ItemID && !p.uses(c) && !slices.Contains(slices.Collect(maps.Values(p.Draft.Columns)), c) {
			p.Unused = append(p.Unused, c)
		}
	}
	if p.Check == nil || p.Check.Rows == 0 {
		return nil
	}
	preview, err := v.api.Preview(ctx, p.ID, 5)
	if err != nil && refusal(err) == nil {
		return err
	}
	p.Preview = previewOf(preview, columns, p.Draft.Columns)
	return nil
}

// fillMaps makes what each step receives. What was typed stays, with all that can be chosen.
func (p *mappingPage) fillMaps(ctx context.Context, v *visit, columns []string) error {
	actions, err := v.actionsOf(ctx, p.wizard)
	if err != nil {
		return err
	}
	for i, s := range p.Bulk.Steps {
		saved := mapOf(i, s, actions[s.Action], p.Check)
		if i < len(p.Maps) {
			p.Maps[i].complete(&saved, columns)
		} else {
			p.Maps = append(p.Maps, saved)
		}
		if p.Check != nil {
			p.Maps[i].offer(p.Check.Kinds)
		}
	}
	return nil
}

// uses reports whether a step receives a column.
func (p *mappingPage) uses(column string) bool {
	for _, m := range p.Maps {
		if m.Whole || slices.ContainsFunc(m.Rows, func(r mapRow) bool { return strings.Contains(r.Expression(), exprOf(column, "")) }) {
			return true
		}
	}
	return false
}

// saveMapping saves step 3, and goes on if the data can be used as it says.
func (d *Dashboard) saveMapping(ctx context.Context, v *visit) (done, error) {
	w, err := v.open(ctx)
	if err != nil {
		return done{}, err
	}
	p := &mappingPage{wizard: w}
	shown, _ := strconv.ParseInt(v.FormValue("shown"), 10, 64) // without it, nothing was promised
	typed := p.read(v)
	edit := func(n *api.NewBulkAction) {
		if id := strings.TrimSpace(v.FormValue("item_id")); id != "" {
			n.ItemID = id
		}
		if w.Asks("on_bad_line") {
			n.OnBadLine = v.FormValue("bad")
		}
		if w.Asks("duplicates") {
			n.Duplicates = v.FormValue("duplicates")
		}
		if w.Asks("fold_ids") {
			n.FoldIDs = v.FormValue("fold_ids") != ""
		}
		if !w.Own() {
			n.Columns = chosen(v)
			return
		}
		n.Steps = slices.Clone(n.Steps)
		for i := range n.Steps {
			if i < len(typed) {
				n.Steps[i].Input = typed[i].input()
			}
		}
	}
	p.Maps = typed // as they were typed
	if err := p.fillMaps(ctx, v, nil); err != nil {
		return done{}, err
	}
	if p.findHalf(); len(w.Faults) == 0 {
		if err := v.describe(ctx, w, edit); err != nil {
			if err := w.refuse(err, p.place); err != nil {
				return done{}, err
			}
		}
	}
	if p.unsaved = len(w.Faults) > 0 || len(w.Rest) > 0; p.unsaved {
		edit(&w.Draft) // the form shows the draft
	} else {
		p.Maps = nil
	}
	if err := v.check(ctx, w, badShown); err != nil {
		return done{}, err
	}
	if err := p.fill(ctx, v); err != nil {
		return done{}, err
	}
	if p.unsaved {
		return done{}, &pageAgain{"new-mapping", p.page()}
	}
	if v.FormValue("do") != "next" {
		return done{To: "/new/" + w.ID + "/mapping"}, nil
	}
	if why := p.Blocks(); why != "" {
		w.Faults["next"] = why
		return done{}, &pageAgain{"new-mapping", p.page()}
	}
	if p.Changed = shown != w.Check.Items; p.Changed {
		return done{}, &pageInstead{pageAgain{"new-mapping", p.page()}, http.StatusOK}
	}
	return done{To: "/new/" + w.ID + "/rules"}, v.countFailures(ctx, w)
}

// findHalf finds fields that have a name alone, or a value alone: neither could be saved.
func (p *mappingPage) findHalf() {
	for _, m := range p.Maps {
		if m.Whole || !p.Own() {
			continue
		}
		for _, r := range m.Rows {
			switch e := r.Expression(); {
			case r.Member != "" && e == "" && !r.Known:
				p.Faults[r.Key] = "The field " + r.Member + " of " + m.Name + " has no value. Choose a column or write an expression, or empty its name to leave it out."
			case r.Member == "" && e != "":
				p.Faults[r.Key] = "What " + m.Name + " shall receive as " + e + " has no name. Name the field, or empty its value to leave it out."
			}
		}
	}
}

// place returns the field of the page for a field of the API.
func (p *mappingPage) place(field string) string {
	if field == "item_id" {
		return field
	}
	for i := range p.Maps {
		rest, ok := strings.CutPrefix(field, "steps["+strconv.Itoa(i)+"].input")
		if !ok {
			continue
		}
		for _, r := range p.Maps[i].Rows {
			if r.Member != "" && rest == "."+r.Member {
				return r.Key
			}
		}
		return "s" + strconv.Itoa(i)
	}
	return ""
}

// badRows streams the bad rows of an upload.
func badRows(ctx context.Context, v *visit) (file, error) {
	body, err := v.api.BadRows(ctx, v.PathValue("id"))
	return file{Name: "bad-rows.csv", Body: body}, err
}

// repeatedRows streams the rows of an upload whose id an earlier row has.
func repeatedRows(ctx context.Context, v *visit) (file, error) {
	body, err := v.api.Repeated(ctx, v.PathValue("id"))
	return file{Name: "duplicates.csv", Body: body}, err
}
