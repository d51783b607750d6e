package outlook

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service/check"
)

// Effect simulates the running bulk actions that use a resource concerned twice: with the limits
// of now, and with changed ones. It changes nothing. Bulk actions that by does not see are simulated, but not listed.
func (s *Outlook) Effect(ctx context.Context, what *api.LimitChanges, by Viewer) (api.Effect, error) {
	now, err := s.load(ctx)
	if err != nil {
		return api.Effect{}, err
	}
	touched, err := now.touched(what, s.actions.Resources(), by)
	if err != nil {
		return api.Effect{}, err
	}
	queue, own := now.concerned(touched, what, by.Tenant)
	out := api.Effect{At: now.at.UTC(), BulkActions: []api.EffectOn{}, LeftOut: max(own-forecast.MostTogether, 0), Assumptions: []string{
		"Ends are simulated with the current load and the work that is scheduled. New work is not known.",
		"Which of several bulk actions of one tenant ends first is a rough estimate.",
		"Bulk actions that use no resource concerned are left out, also if they share another one with a bulk action listed here.",
	}}
	sc := scene{load: now.beside("")}
	sc.load.Others = nil
	for _, i := range queue[:min(len(queue), forecast.MostTogether)] {
		if err := s.enter(ctx, &sc, &now, i, &out); err != nil {
			return out, err
		}
	}
	for i := range now.others {
		if !slices.Contains(sc.ids, now.ids[i]) {
			sc.load.Others = append(sc.load.Others, now.others[i])
			sc.rest = append(sc.rest, now.ids[i])
		}
	}
	err = sc.play(what, &out)
	out.BulkActions = slices.DeleteFunc(out.BulkActions, func(x api.EffectOn) bool { return !by.Tenant(x.Tenant) })
	return out, err
}

// Viewer is what the caller of a simulation may learn of.
type Viewer struct {
	Tenant   func(name string) bool
	Resource func(name string) bool
}

// concerned returns which bulk actions run and use a resource concerned, and how many of them the caller sees: these
// first, of them those whose own rates change, and then those with the most items.
func (l *loaded) concerned(touched map[string]bool, what *api.LimitChanges, sees func(tenant string) bool) (queue []int, seen int) {
	for i := range l.others {
		w := &l.others[i]
		if w.Delay == 0 && slices.ContainsFunc(w.Steps, func(st forecast.Step) bool { return touched[st.Resource] }) {
			queue = append(queue, i)
		}
	}
	theirs := func(i int) int {
		if sees(l.others[i].Tenant) {
			return 0
		}
		return 1
	}
	own := func(i int) int { return min(len(what.Rates[l.ids[i]]), 1) }
	slices.SortStableFunc(queue, func(a, b int) int {
		return cmp.Or(theirs(a)-theirs(b), own(b)-own(a), cmp.Compare(l.others[b].Items, l.others[a].Items))
	})
	for seen < len(queue) && theirs(queue[seen]) == 0 {
		seen++
	}
	return queue, seen
}

// scene is what is simulated: works that run, by id, and the load beside them, whose others have
// the ids of rest.
type scene struct {
	works []forecast.Work
	ids   []string
	at    []int // of the works in the answer
	rest  []string
	load  forecast.Load
	due   []time.Time
}

// enter adds a bulk action to the scene and to the answer, unless it has ended meanwhile.
func (s *Outlook) enter(ctx context.Context, sc *scene, now *loaded, i int, out *api.Effect) error {
	b, err := s.engine.Get(ctx, weir.BulkID(now.ids[i]))
	if err != nil {
		return check.IgnoreRemoved(err)
	}
	p, err := b.Now(ctx)
	if err != nil || p.State != weir.BulkRunning || p.Counts.Total == p.Counts.Ended() {
		return check.IgnoreRemoved(err)
	}
	info := b.Info()
	x := api.EffectOn{ID: now.ids[i], Name: info.Name, Tenant: info.Tenant, Items: p.Counts.Total - p.Counts.Ended()}
	switch {
	case p.Failing():
		x.Text = "unknown: its calls fail"
	case p.Canary:
		x.Text = "unknown: its canary has to end first"
	default:
		w, err := s.rest(ctx, b, &p, &sc.load, &now.limits, now.at)
		if err != nil {
			return err
		}
		sc.works, sc.ids, sc.at = append(sc.works, w), append(sc.ids, x.ID), append(sc.at, len(out.BulkActions))
		sc.due = append(sc.due, info.Deadline)
	}
	out.BulkActions = append(out.BulkActions, x)
	return nil
}

// play simulates the scene with the limits of now and with changed ones.
func (sc *scene) play(what *api.LimitChanges, out *api.Effect) error {
	if len(sc.works) == 0 {
		return nil
	}
	now, err := forecast.Together(sc.works, sc.load)
	if err != nil {
		return err
	}
	changed := sc.changed(what)
	then, err := forecast.Together(changed.works, changed.load)
	if err != nil {
		return err
	}
	for i, at := range sc.at {
		x := &out.BulkActions[at]
		x.Ends, x.Then = sc.end(i, out.At, now[i]), sc.end(i, out.At, then[i])
		x.Text = difference(x.Ends, x.Then, out.At)
	}
	return nil
}

// end returns when a bulk action ends; zero: it does not. At its deadline it ends with the items done so far.
func (sc *scene) end(i int, now time.Time, left time.Duration) time.Time {
	if left == 0 {
		return sc.due[i]
	}
	end := now.Add(left)
	if due := sc.due[i]; !due.IsZero() && end.After(due) {
		return due.UTC()
	}
	return end
}

// difference says how much earlier or later a bulk action ends.
func difference(ends, then, now time.Time) string {
	switch {
	case ends.IsZero() && then.IsZero():
		return "does not end as things are"
	case ends.IsZero():
		return "ends, which it does not as things are"
	case then.IsZero():
		return "does not end any more"
	}
	diff := then.Sub(ends)
	switch least := max(time.Second, ends.Sub(now)/50); {
	case diff < -least:
		return "ends " + shortly(-diff) + " earlier"
	case diff > least:
		return "ends " + shortly(diff) + " later"
	}
	return "ends at about the same time"
}

// shortly writes a duration as exactly as a simulation is worth.
func shortly(d time.Duration) string {
	if d >= 10*time.Minute {
		return api.Duration(d.Round(time.Minute)).String()
	}
	return api.Duration(d.Round(time.Second)).String()
}
