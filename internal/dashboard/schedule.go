package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// schedulePage is the page of one schedule.
type schedulePage struct {
	scheduleLine
	Five    []string // the next times
	Facts   []fact
	History []fireView
	More    int
}

// mostFires is how many of the last times are shown with what came of them.
const mostFires = 20

func (d *Dashboard) schedule(ctx context.Context, v *visit) (content, error) {
	s, err := v.api.Schedules().Get(ctx, v.PathValue("id"))
	if err != nil {
		return content{}, err
	}
	line, err := v.scheduleLine(ctx, s)
	if err != nil {
		return content{}, err
	}
	facts, err := v.scheduleFacts(ctx, &s)
	if err != nil {
		return content{}, err
	}
	page := schedulePage{scheduleLine: line, Facts: facts, More: len(s.History) - mostFires}
	for _, at := range s.Next {
		page.Five = append(page.Five, capital(v.when(at, s.Zone)))
	}
	for _, f := range s.History[:min(len(s.History), mostFires)] {
		view, err := v.fire(ctx, f)
		if err != nil {
			return content{}, err
		}
		page.History = append(page.History, view)
	}
	return content{Title: s.Name, Nav: "Schedules", Page: page, Weir: []string{"weir schedules get " + s.ID, "weir schedules next " + s.ID}}, nil
}

var overlaps = []option{{"skip", "Skip that time"}, {"queue", "Wait until it has ended"}, {"allow", "Run beside it"}}

// scheduleFacts says how a schedule is set.
func (v *visit) scheduleFacts(ctx context.Context, s *api.Schedule) ([]fact, error) {
	var waiting []string
	for _, at := range s.Waiting {
		waiting = append(waiting, v.when(at, ""))
	}
	missed := fmt.Sprintf("Run late if within %s, the newest only", format.Duration(time.Duration(s.CatchUp)))
	if s.CatchUpAll {
		missed = fmt.Sprintf("All of them run late if within %s", format.Duration(time.Duration(s.CatchUp)))
	}
	until := "Never"
	if !s.Until.IsZero() {
		until = v.when(s.Until, s.Zone)
	}
	var facts []fact
	if waiting != nil {
		facts = append(facts, fact{"Waiting to fire", strings.Join(waiting, " · ")})
	}
	makes, err := v.makes(ctx, &s.BulkAction)
	if err != nil {
		return nil, err
	}
	facts = append(facts, makes...)
	asks, err := v.asks(ctx, s)
	if asks != "" {
		facts = append(facts, fact{"Canary", asks})
	}
	return append(facts, fact{"If still running", nameOf(overlaps, cmp.Or(s.Overlap, "skip"))},
		fact{"Missed times", missed}, fact{"Ends", until}, fact{"Made", v.clock.Time(s.CreatedAt)}), err
}

// makes says what a schedule makes: what it does, of which items, and the values that its template asks for.
func (v *visit) makes(ctx context.Context, b *api.NewBulkAction) ([]fact, error) {
	t, err := v.templateOf(ctx, b)
	if err != nil {
		return nil, err
	}
	items := cmp.Or(sourceName(b.Source), sourceName(t.BulkAction.Source), "None")
	if n := max(len(b.Items), len(t.BulkAction.Items)); n > 0 {
		items = format.Items(int64(n)) + " of its definition"
	}
	facts := []fact{{"Does", does(b)}, {"Items", items}}
	for _, f := range fieldsOf(&t, b.Params, nil) {
		facts = append(facts, fact{f.Label, cmp.Or(f.Text, "–")})
	}
	return facts, nil
}

// asks says that each bulk action of a schedule waits for a person, empty if it does not.
func (v *visit) asks(ctx context.Context, s *api.Schedule) (string, error) {
	c := s.BulkAction.Canary
	if c == nil {
		t, err := v.templateOf(ctx, &s.BulkAction)
		if err != nil {
			return "", err
		}
		c = t.BulkAction.Canary
	}
	if c == nil || c.Approve == "auto" {
		return "", nil
	}
	text := "Each time, it runs a canary and then waits until a person approves the rest."
	switch cmp.Or(s.Overlap, "skip") {
	case "skip":
		text += " Times that come while it waits are skipped."
	case "queue":
		text += " Times that come while it waits wait, too."
	}
	return text, nil
}

// templateOf returns the template of a bulk action to create, an empty one if it has none or the template does not exist.
func (v *visit) templateOf(ctx context.Context, b *api.NewBulkAction) (api.Template, error) {
	if b.Template == "" {
		return api.Template{}, nil
	}
	t, err := v.api.Templates().Get(ctx, b.Template)
	if err != nil && refusal(err) != nil {
		return api.Template{}, nil
	}
	return t, err
}

// does says in words what a bulk action to create does.
func does(b *api.NewBulkAction) string {
	if b.Template != "" {
		return "The template " + b.Template
	}
	var steps []string
	for _, s := range b.Steps {
		steps = append(steps, s.Action)
	}
	return strings.Join(steps, ", then ")
}

func nameOf(list []option, value string) string {
	for _, o := range list {
		if o.Value == value {
			return o.Name
		}
	}
	return value
}

// scheduleVerb makes the form that pauses or resumes a schedule.
func scheduleVerb(name string, do func(*client.Client, context.Context, string, string) (api.Schedule, error), then string,
) func(context.Context, *visit) (done, error) {
	return func(ctx context.Context, v *visit) (done, error) {
		id, reason := v.PathValue("id"), strings.TrimSpace(v.FormValue("reason"))
		s, err := do(v.api, ctx, id, reason)
		if err != nil {
			return done{}, err
		}
		said := s.Name + " is paused."
		if name == "resume" {
			said = s.Name + " is on again."
			if len(s.Next) > 0 {
				said = s.Name + " is on again, and fires next " + v.when(s.Next[0], s.Zone) + "."
			}
		}
		command := "weir schedules " + name + " " + id
		if reason != "" {
			command += " --reason " + quoted(reason)
		}
		to := "/schedules/" + escape(id)
		if v.FormValue("from") == "list" {
			to = "/schedules"
		}
		return done{To: to, Note: note{Text: said, Then: then, Weir: []string{command}}}, nil
	}
}

func (v *visit) askDeleteSchedule(ctx context.Context) (*question, error) {
	s, err := v.api.Schedules().Get(ctx, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	next := "None: it is over or paused"
	if len(s.Next) > 0 {
		next = v.when(s.Next[0], s.Zone) + ", and every later time"
	}
	return &question{
		Title: "Delete " + s.Name + "?", Up: "/schedules/" + escape(s.ID), UpName: s.Name, Scope: "submit", NoReason: true,
		Facts: []fact{{"Will not fire", next}, {"Stays", "every bulk action that it has made"}, {"Goes", "its settings and the list of its last times"}},
		Text:  "A deleted schedule cannot be brought back. To stop it for a while, pause it.", Button: "Delete the schedule", Stay: "Keep it",
	}, nil
}

func (d *Dashboard) deleteSchedule(ctx context.Context, v *visit) (done, error) {
	q, err := v.askDeleteSchedule(ctx)
	if err == nil {
		err = v.answered(q, "Schedules")
	}
	if err == nil {
		err = v.api.Schedules().Delete(ctx, v.PathValue("id"))
	}
	return done{To: "/schedules", Note: note{Text: "The schedule is deleted.", Weir: []string{"weir schedules delete " + v.PathValue("id")}}}, err
}
