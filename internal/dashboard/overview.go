package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// overviewPage answers: does anything need me, and what runs?
type overviewPage struct {
	Stats []stat
	Todo  []todo
	Lines []line
	// Speed is the chart of the last hour, empty for people who see their tenants only; Finding says what it shows.
	Speed            template.HTML
	Span             string // over which time it is
	Finding, Because string
}

// stat is one figure with what proves or explains it.
type stat struct{ Name, Value, Unit, Text string }

// todo is something that needs a person.
type todo struct {
	Icon, Class string
	ID, Name    string
	Says, Text  string
	Verb        *verb // that a person may want
	Failures    bool  // there are failures to look at
	harm        int
}

// mostActive is how many bulk actions are looked at for what needs a person: the newest.
const mostActive = 150

// mostTodo is how many needs a page shows: the worst.
const mostTodo = 5

func (d *Dashboard) overview(ctx context.Context, v *visit) (content, error) {
	var now measured
	var lines, active []line
	var more bool
	parts := []ask{
		func(ctx context.Context, v *visit) (err error) { lines, _, err = v.lines(ctx, "", 20); return err },
		func(ctx context.Context, v *visit) (err error) {
			active, more, err = v.lines(ctx, "running,stopped,awaiting_approval", mostActive)
			return err
		},
	}
	if err := v.together(ctx, append(parts, now.parts(v)...)); err != nil {
		return content{}, err
	}
	running := format.Count(int64(len(slices.DeleteFunc(slices.Clone(active), func(l line) bool { return l.State != api.Running }))))
	if more {
		running += "\u00a0or more"
	}
	page := overviewPage{Lines: lines, Todo: todos(active)}
	page.show(v, running, &now)
	page.Todo = page.Todo[:min(len(page.Todo), mostTodo)]
	return content{Title: "Overview", Nav: "Overview", Page: page, Weir: []string{"weir list"}}, nil
}

// todos lists what needs a person, the worst first.
func todos(lines []line) (all []todo) {
	for i := range lines {
		l := &lines[i]
		t := todo{Icon: signOf(l.State).Icon, Class: signOf(l.State).Class, ID: l.ID, Name: l.Name}
		switch {
		case l.State == api.Stopped:
			t.harm, t.Says, t.Text, t.Verb, t.Failures = 3, "was stopped by its rule", l.Reason, verbNamed("resume"), l.Counts.Failed > 0
		case l.State == api.Running && l.Bar == "waiting" && l.LastError != nil && l.LastError.Failing:
			t.harm, t.Icon, t.Class, t.Says, t.Verb = 4, "warn", "failed", "does not move", verbNamed("pause")
			t.Text = fmt.Sprintf("%s %s wait; none is lost.", format.Stop(l.Waiting), format.Items(l.Counts.Ready+l.Counts.Waiting))
		case l.State == api.Awaiting:
			t.harm, t.Says, t.Verb = 2, "has finished its canary", verbNamed("approve")
			t.Text = fmt.Sprintf("%s of %s done. %s for approval.", format.Count(l.Counts.Done), format.Items(l.Finished),
				format.Plural(l.Counts.Ready, "item waits", "items wait"))
		default:
			continue
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b todo) int { return b.harm - a.harm })
	return all
}

// measured are the figures of the overview; nil: not for this person.
type measured struct {
	hour   *api.Series
	failed api.DLQGroups
	scale  *api.Scale
}

// parts are what asks for the figures that a person may see.
func (m *measured) parts(v *visit) (all []ask) {
	if v.covers(nil) {
		all = append(all, func(ctx context.Context, v *visit) error {
			hour, err := v.hour(ctx, "")
			m.hour = &hour
			return err
		})
	}
	all = append(all, func(ctx context.Context, v *visit) (err error) {
		m.failed, err = v.api.DLQGroups(ctx, api.DLQFilter{}, 0)
		return err
	})
	if v.operates() {
		all = append(all, func(ctx context.Context, v *visit) error {
			scale, err := v.api.Scale(ctx)
			m.scale = &scale
			return err
		})
	}
	return all
}

// show fills in the figures, and the chart of what all tenants share.
func (p *overviewPage) show(v *visit, running string, now *measured) {
	add := func(name, value, unit, text string) { p.Stats = append(p.Stats, stat{name, value, unit, text}) }
	add("Running", running, "", format.Plural(int64(len(p.Todo)), "bulk action needs", "bulk actions need")+" attention")
	if now.hour != nil {
		p.draw(v, now.hour)
	}
	add("Failed, not dealt with", format.Count(now.failed.Items), "", fmt.Sprintf("in %s", format.Plural(int64(now.failed.Groups), "group", "groups")))
	if now.scale != nil {
		add("Workers", format.Count(int64(now.scale.Workers)), "", "on "+format.Plural(int64(now.scale.Nodes), "node", "nodes"))
	}
}

// draw shows the last hour of all resources together.
func (p *overviewPage) draw(v *visit, s *api.Series) {
	ended := plus(s.Done, s.Failed)
	now, _ := last(s.PerSecond(ended))
	allowed, limited := last(s.AllowedRate)
	of, among := "last "+format.Duration(time.Duration(s.Step))+", all bulk actions", "" // with those that have just ended, which have no speed in the list
	if limited {                                                                         // a service without a limit has no share of a sum
		among = ", of " + format.Count(int64(allowed)) + " allowed"
		of += among
	}
	p.Stats = append(p.Stats, stat{"Speed now", format.Count(int64(now + 0.5)), "items/s", of})
	if oldest, known := last(s.OldestReady); known && oldest > 0 {
		p.Stats = append(p.Stats, stat{"Longest wait for a turn", format.Duration(time.Duration(oldest * float64(time.Second))), "", "of a tenant with items ready"})
	} else {
		p.Stats = append(p.Stats, stat{"Longest wait for a turn", "–", "", "nothing waits"})
	}
	recent := func(c api.Column) float64 { // the last 15 minutes
		return c[max(0, len(c)-int(15*time.Minute/time.Duration(max(s.Step, 1)))):].Sum()
	}
	failures, all := recent(s.Failed), recent(ended)
	share := "–"
	if all > 0 {
		share = format.Percent(failures / all)
	}
	p.Stats = append(p.Stats, stat{"Failures, last 15\u00a0min", share, "", fmt.Sprintf("%s of %s", format.Count(int64(failures)), format.Items(int64(all)))})
	if s.Points == 0 {
		return
	}
	p.Finding = fmt.Sprintf("%s items per second in the last %s%s.", format.Count(int64(now+0.5)), format.Duration(time.Duration(s.Step)), among)
	switch ready, _ := last(s.Ready); {
	case limited && now > 0.9*allowed:
		p.Because = "The limits are the bottleneck; more workers would not help."
	case ready == 0:
		p.Because = "Nothing waits."
	default:
		p.Because = format.Plural(int64(ready), "item was", "items were") + " ready at its end."
	}
	p.Span = spanned(&s.Timeline, ended)
	p.Speed = v.speed("c-speed", "Items per second, "+p.Span, p.Finding+" "+p.Because, 148, &s.Timeline, ended, s.AllowedRate, lately)
}
