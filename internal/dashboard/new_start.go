package dashboard

import (
	"context"
	"errors"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// confirmStart asks before many items start.
func (d *Dashboard) confirmStart(ctx context.Context, v *visit) (content, error) {
	w, err := v.openChecked(ctx, 1)
	if err != nil {
		return content{}, err
	}
	return v.ask(v.askStart(w), "Bulk actions"), nil
}

// askStart is the question before the start.
func (v *visit) askStart(w *wizard) *question {
	later := v.FormValue("start_at")
	q := &question{Title: w.startButton() + "?", Up: "/new/" + w.ID + "/forecast", UpName: "New bulk action: " + w.Name, Items: w.Items(), Scope: "submit",
		Button: w.startButton(), Stay: "Keep it as a draft", Safe: true,
		Hidden: []fact{{"once", v.onceKey()}, {"start_at", later}, {"zone", v.FormValue("zone")}, {"asked", "yes"}, {seenField, w.Seen()}},
		Text:   "Items that are done stay done. You can pause or cancel the rest at any time."}
	if v.stale(w.Seen()) {
		q.Fault = "Someone changed this draft after you opened the page. Check what runs now."
	}
	all := "Unknown before its source is read"
	if w.Items() > 0 {
		all = format.Items(w.Items())
	}
	q.Facts = append(q.Facts, fact{"Runs", all + ", " + strings.Join(stepIDs(w.Bulk.Steps), ", then ")})
	if n := w.Canary(); n > 0 {
		q.Facts = append(q.Facts, fact{"First", format.Items(n) + "; the rest waits for its approval"})
	}
	if c := w.Check; c != nil && c.Duplicates+c.BadLines > 0 {
		q.Facts = append(q.Facts, fact{"Left out", format.Plural(c.Duplicates, "duplicate", "duplicates") + " and " + format.Plural(c.BadLines, "bad row", "bad rows")})
	}
	when := "Now"
	if later != "" {
		q.Button, when = strings.Replace(q.Button, "Start", "Schedule", 1), later+" "+v.FormValue("zone")
	}
	q.Facts = append(q.Facts, fact{"When", when})
	return q
}

// startDraft starts a draft now, or at a time.
func (d *Dashboard) startDraft(ctx context.Context, v *visit) (done, error) {
	id := v.PathValue("id")
	b, err := v.api.Get(ctx, id)
	if err != nil {
		return done{}, err
	}
	to := "/bulk-actions/" + escape(id)
	if b.State != api.Draft {
		return done{To: to, Note: note{Text: "It was started before.", Then: "Nothing is done twice."}}, nil
	}
	p, err := v.forecast(ctx)
	if err != nil {
		return done{}, err
	}
	p.StartAt, p.Zone = strings.TrimSpace(v.FormValue("start_at")), strings.TrimSpace(v.FormValue("zone"))
	switch {
	case p.Blocks() != "":
		return done{}, &pageAgain{"new-forecast", p.page()}
	case v.FormValue("later") != "" && p.StartAt == "":
		p.Faults["start_at"] = "Choose a date and a time."
		return done{}, &pageAgain{"new-forecast", p.page()}
	}
	q := v.askStart(p.wizard)
	if err := v.answered(q, "Bulk actions"); err != nil {
		if v.FormValue("asked") == "" { // it has not been asked yet
			q.TypedFault = ""
		}
		return done{}, err
	}
	start := api.Start{StartAt: p.StartAt, Reason: strings.TrimSpace(v.FormValue("reason"))}
	if start.StartAt != "" {
		start.Zone = p.Zone
	}
	b, err = v.api.Start(v.once(ctx), id, start)
	switch {
	case client.IsCode(err, "in_progress"): // the form was sent twice
		return done{To: to}, nil
	case err != nil:
		if err := p.refuse(err, func(field string) string {
			return map[string]string{"start_at": "start_at", "zone": "zone"}[field]
		}); err != nil {
			return done{}, err
		}
		return done{}, &pageAgain{"new-forecast", p.page()}
	}
	return done{To: to, Note: v.started(p, &b)}, nil
}

// started says what was started.
func (v *visit) started(p *forecastPage, b *api.BulkAction) note {
	n := note{Text: "Started: first its rows are read, then its items run.", Weir: []string{"weir start " + p.ID}}
	if p.StartAt != "" {
		n.Text, n.Weir = "It is scheduled for "+v.clock.Time(b.StartAt)+".", []string{"weir start " + p.ID + " --start-at " + quoted(p.StartAt) + " --zone " + quoted(p.Zone)}
	}
	if c := p.Canary(); c > 0 {
		n.Then = format.Items(c) + " go first; the rest needs an approval."
		if c == 1 {
			n.Then = format.Items(c) + " goes first; the rest needs an approval."
		}
	}
	return n
}

// errDraftGone means that what is asked about is not a draft any more.
var errDraftGone = errors.New("it is not a draft any more")

// askDelete is the question before a draft is deleted.
func (v *visit) askDelete(ctx context.Context) (*question, error) {
	b, err := v.api.Get(ctx, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if b.State != api.Draft {
		return nil, errors.Join(errNotNow, errDraftGone)
	}
	return &question{Title: "Delete the draft " + b.Name + "?", Up: "/new/" + b.ID, UpName: "New bulk action: " + b.Name, Scope: "submit",
		Facts: []fact{{"Goes", "What you entered, and the uploaded data"}, {"Sent so far", "Nothing"}}, Button: "Delete the draft", Stay: "Keep the draft"}, nil
}

func (d *Dashboard) confirmDelete(ctx context.Context, v *visit) (content, error) {
	q, err := v.askDelete(ctx)
	if err != nil {
		return content{}, err
	}
	return v.ask(q, "Bulk actions"), nil
}

func (d *Dashboard) deleteDraft(ctx context.Context, v *visit) (done, error) {
	q, err := v.askDelete(ctx)
	if err == nil {
		err = v.answered(q, "Bulk actions")
	}
	if err == nil {
		err = v.api.Delete(ctx, v.PathValue("id"))
	}
	return done{To: "/bulk-actions", Note: note{Text: "The draft is deleted."}}, err
}
