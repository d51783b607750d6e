package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// choicePage asks what becomes of the rows that a draft has when another file is uploaded.
type choicePage struct {
	*wizard
	Upload string
	Now    string // the data of the draft
	File   string // the name of the new file
	Came   int64  // rows of the new file
	Add    *api.DataCheck
	NoAdd  string // why the rows cannot be added
	Other  *api.DataCheck
	NoUse  string // why the file cannot replace the data
	Fault  string
}

// takeUpload makes an upload the data of a draft. If it has rows already, a corrected list of bad rows is added to them;
// of another file a page asks.
func (v *visit) takeUpload(ctx context.Context, w *wizard, upload string) (done, error) {
	to := "/new/" + w.ID + "/mapping"
	if err := v.check(ctx, w, 1); err != nil {
		return done{}, err
	}
	if !w.HasRows() {
		err := v.describe(ctx, w, func(n *api.NewBulkAction) { n.Source = &api.Source{Upload: upload} })
		if err == nil {
			err = v.match(ctx, w)
		}
		return done{To: to}, err
	}
	c, err := v.api.CheckWith(ctx, w.ID, upload, false, 1)
	if refusal(err) == nil && err != nil {
		return done{}, err
	}
	if n := len(c.Uploads); err == nil && n > 0 && c.Uploads[n-1].List {
		before := *w.Check
		if err := v.addUpload(ctx, w, upload); err != nil {
			return done{}, err
		}
		return done{To: to, Note: addedNote(&before, &c)}, nil
	}
	return done{To: "/new/" + w.ID + "/data/choice?upload=" + escape(upload)}, nil
}

// HasRows reports whether the draft reads uploads that have rows.
func (w *wizard) HasRows() bool {
	return w.Draft.Source != nil && w.Draft.Source.Upload != "" && w.Check != nil && w.Check.Rows > 0
}

// addUpload adds an upload to those of a draft.
func (v *visit) addUpload(ctx context.Context, w *wizard, upload string) error {
	return v.describe(ctx, w, func(n *api.NewBulkAction) {
		more := *n.Source
		more.Added = append(slices.Clone(more.Added), upload)
		n.Source = &more
	})
}

// addedNote says what came of adding rows.
func addedNote(before, after *api.DataCheck) note {
	of := after.Uploads[len(after.Uploads)-1]
	n := note{Text: fmt.Sprintf("%s of %s added to the %s that were there.", format.Plural(of.Rows, "row", "rows"), of.Name, format.Plural(before.Rows, "row", "rows"))}
	if fixed := after.Corrected - before.Corrected; fixed > 0 {
		valid := max(0, after.Items-before.Items)
		n.Then = fmt.Sprintf("%s corrected by it. %s can be used now, %s before.", format.Plural(valid, "bad row is", "bad rows are"),
			format.Items(after.Items), format.Count(before.Items))
		if valid == 0 {
			n.Then = fmt.Sprintf("None of them can be used yet. %s can be used, as before.", format.Items(after.Items))
		}
		if after.BadLines > 0 {
			n.Then += " " + format.Plural(after.BadLines, "row is", "rows are") + " still bad."
		}
	}
	return n
}

func (d *Dashboard) newChoice(ctx context.Context, v *visit) (content, error) {
	p, err := v.choice(ctx)
	if err != nil {
		return content{}, err
	}
	return p.content(1, p), nil
}

// choice counts what each answer would lead to.
func (v *visit) choice(ctx context.Context) (*choicePage, error) {
	w, err := v.openChecked(ctx, 1)
	if err != nil {
		return nil, err
	}
	p := &choicePage{wizard: w, Upload: v.FormValue("upload"), Now: dataName(w)}
	if p.Upload == "" || !w.HasRows() || slices.Contains(append([]string{w.Draft.Source.Upload}, w.Draft.Source.Added...), p.Upload) {
		return nil, &pageElsewhere{"/new/" + w.ID + "/data"}
	}
	if p.Add, p.NoAdd, err = v.couldBe(ctx, w, p.Upload, false); err != nil {
		return nil, err
	}
	if p.Other, p.NoUse, err = v.couldBe(ctx, w, p.Upload, true); err != nil {
		return nil, err
	}
	if p.Other != nil {
		p.File, p.Came = p.Other.Name, p.Other.Rows
	}
	if p.Add != nil {
		of := p.Add.Uploads[len(p.Add.Uploads)-1]
		p.File, p.Came = of.Name, of.Rows
		if of.Rows == 0 {
			p.Add, p.NoAdd = nil, "It has no rows."
		}
	}
	if p.Other != nil && p.Other.Rows == 0 {
		p.Other, p.NoUse = nil, "It has no rows that can be read with this mapping."
		if p.Add != nil {
			p.NoUse = "It has no rows."
		}
	}
	if p.File == "" {
		p.File = "The new file"
	}
	return p, nil
}

// couldBe checks the draft with another upload. A refusal is the reason why it cannot be used.
func (v *visit) couldBe(ctx context.Context, w *wizard, upload string, replace bool) (*api.DataCheck, string, error) {
	c, err := v.api.CheckWith(ctx, w.ID, upload, replace, 1)
	switch p := refusal(err); {
	case err == nil:
		return &c, "", nil
	case p != nil && slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Status):
		return nil, inSentences(p.Detail, p.Fix), nil
	}
	return nil, "", err
}

// Repeats is how many of the new rows have an id that is there already.
func (p *choicePage) Repeats() int64 { return p.Add.Duplicates - p.Check.Duplicates }

// Fixes is how many bad rows the new rows correct.
func (p *choicePage) Fixes() int64 { return p.Add.Corrected - p.Check.Corrected }

// Better is the answer that is probably meant, empty if that is not clear: rows whose ids are new belong to the others, and
// a file of mostly the same ids is another version of the data.
func (p *choicePage) Better() string {
	switch {
	case p.Add == nil || p.Other == nil:
		return ""
	case 2*p.Repeats() > p.Came:
		return "replace"
	case p.Fixes() > 0 && p.Repeats() == 0:
		return "add"
	}
	return ""
}

func (d *Dashboard) saveChoice(ctx context.Context, v *visit) (done, error) {
	p, err := v.choice(ctx)
	if err != nil {
		return done{}, err
	}
	do := v.FormValue("do")
	switch {
	case v.stale(p.Seen()):
		p.Fault = "Someone changed this draft after you opened the page. Look at the numbers again."
	case do == "add" && p.Add != nil:
		if err := v.addUpload(ctx, p.wizard, p.Upload); err != nil {
			return done{}, err
		}
		return done{To: "/new/" + p.ID + "/mapping", Note: addedNote(p.Check, p.Add)}, nil
	case do == "replace" && p.Other != nil:
		gone := p.Check.Rows
		err := v.describe(ctx, p.wizard, func(n *api.NewBulkAction) { n.Source = &api.Source{Upload: p.Upload} })
		if err == nil {
			err = v.match(ctx, p.wizard)
		}
		return done{To: "/new/" + p.ID + "/mapping", Note: note{Text: fmt.Sprintf("%s replaced by the %s of %s.",
			format.Plural(gone, "row was", "rows were"), format.Plural(p.Came, "row", "rows"), p.File)}}, err
	default:
		p.Fault = "Choose whether to add the rows or to replace those that are there."
	}
	return done{}, &pageAgain{"new-choice", p.content(1, p)}
}

// Where says where a row is: its line, and the file if there are several.
func (w *wizard) Where(file, line int64) string {
	if line == 0 {
		return "–"
	}
	text := "line " + format.Count(line)
	if n := int(file); w.Check != nil && n > 1 && n <= len(w.Check.Uploads) {
		text += " of " + w.Check.Uploads[n-1].Name
	}
	return text
}
