package dashboard

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// overviewPage answers: does anything need me, and what runs?
type overviewPage struct {
	Stats []stat
	Todo  []todo
	Lines []line
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

// mostTodo is how many needs a page shows: the worst.
const mostTodo = 5

func (d *Dashboard) overview(ctx context.Context, v *visit) (content, error) {
	lines, err := v.lines(ctx, client.Filter{}, 20)
	if err != nil {
		return content{}, err
	}
	var active []line
	running := 0
	for _, state := range []api.State{api.Running, api.Stopped, api.Awaiting} {
		some, err := v.lines(ctx, client.Filter{State: state}, onPage)
		if err != nil {
			return content{}, err
		}
		if active = append(active, some...); state == api.Running {
			running = len(some)
		}
	}
	page := overviewPage{Lines: lines, Todo: todos(active)}
	if page.Stats, err = v.stats(ctx, running, len(page.Todo)); err != nil {
		return content{}, err
	}
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
			t.Text = fmt.Sprintf("%s. %s wait; none is lost.", l.Waiting, format.Items(l.Counts.Ready+l.Counts.Waiting))
		case l.State == api.Awaiting:
			t.harm, t.Says, t.Verb = 2, "has finished its canary", verbNamed("approve")
			t.Text = fmt.Sprintf("%s of %s done. %s wait for approval.", format.Count(l.Counts.Done), format.Items(l.Finished),
				format.Items(l.Counts.Ready))
		default:
			continue
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b todo) int { return b.harm - a.harm })
	return all
}

func (v *visit) stats(ctx context.Context, running, todos int) ([]stat, error) {
	unit := ""
	if running == onPage {
		unit = "or more"
	}
	scale, err := v.api.Scale(ctx)
	if err != nil {
		return nil, err
	}
	var failed int64
	groups, err := v.api.DLQGroups(ctx, api.DLQFilter{})
	if err != nil {
		return nil, err
	}
	for i := range groups {
		failed += groups[i].Count
	}
	return []stat{
		{"Running", format.Count(int64(running)), unit, format.Plural(int64(todos), "bulk action needs", "bulk actions need") + " attention"},
		{"Failed, not dealt with", format.Count(failed), "", fmt.Sprintf("in %s", format.Plural(int64(len(groups)), "group", "groups"))},
		{"Workers", format.Count(int64(scale.Workers)), "", "on " + format.Plural(int64(scale.Nodes), "node", "nodes")},
	}, nil
}
