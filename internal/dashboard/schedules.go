package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// schedulesPage answers: what fires next, and did the last ones work?
type schedulesPage struct {
	Sum   string
	Week  []weekDay
	Lines []scheduleLine
	More  bool
}

// weekDay is one day of the calendar.
type weekDay struct {
	Name    string
	Entries []weekEntry
}

type weekEntry struct {
	Text, ID string
	Many     bool // it fires all the time
	at       time.Time
}

// scheduleLine is one schedule in the list.
type scheduleLine struct {
	api.Schedule
	Sign       sign
	When       string
	Next, Left string
	Over       bool // it never fires again
	Last       *fireView
}

// fireView is one time of a schedule, and what came of it.
type fireView struct {
	api.ScheduledFire
	Sign        sign
	Due, Words  string
	Name, Items string
	Failed      int64
}

func (d *Dashboard) schedulePages() {
	d.page("/schedules", "schedules", d.schedules)
	d.page("/schedules/{id}", "schedule", d.schedule)
	d.form("/schedules/{id}/pause", scheduleVerb("pause", (*client.Client).PauseSchedule, "Times that pass until it is resumed are left out."))
	d.form("/schedules/{id}/resume", scheduleVerb("resume", (*client.Client).ResumeSchedule, "Times that have passed meanwhile are not made up for: use Backfill."))
	d.page("/schedules/{id}/delete", "confirm", func(ctx context.Context, v *visit) (content, error) {
		q, err := v.askDeleteSchedule(ctx)
		if err != nil {
			return content{}, err
		}
		return v.ask(q, "Schedules"), nil
	})
	d.form("/schedules/{id}/delete", d.deleteSchedule)
	d.sheet("/schedules/new", d.newSchedule, d.createSchedule)
	d.sheet("/schedules/{id}/edit", d.editSchedule, d.changeSchedule)
	d.sheet("/schedules/{id}/backfill", d.askBackfill, d.backfill)
}

const (
	// mostSchedules is how many schedules the page lists.
	mostSchedules = 100
	// mostWeek is how many times a week one schedule may have in the calendar.
	mostWeek = 1000
	// mostDay is how many times a day are written one by one.
	mostDay = 2
)

func (d *Dashboard) schedules(ctx context.Context, v *visit) (content, error) {
	all, err := collect(v.api.Schedules().List(ctx), mostSchedules+1)
	if err != nil {
		return content{}, err
	}
	page := schedulesPage{More: len(all) > mostSchedules, Week: v.week()}
	var first time.Time
	for _, s := range all[:min(len(all), mostSchedules)] {
		line, err := v.scheduleLine(ctx, s)
		if err != nil {
			return content{}, err
		}
		page.Lines = append(page.Lines, line)
		if len(s.Next) > 0 && (first.IsZero() || s.Next[0].Before(first)) {
			first = s.Next[0]
		}
		if err := page.plan(ctx, v, &s); err != nil {
			return content{}, err
		}
	}
	page.Sum = format.Plural(int64(len(page.Lines)), "schedule", "schedules") + "."
	if !first.IsZero() {
		page.Sum += " The next one fires " + v.when(first, "") + "."
	}
	for i := range page.Week {
		slices.SortStableFunc(page.Week[i].Entries, func(a, b weekEntry) int { return a.at.Compare(b.at) })
	}
	return content{Title: "Schedules", Nav: "Schedules", Page: page, Weir: []string{"weir schedules list"}}, nil
}

// week returns the next seven days, without entries.
func (v *visit) week() []weekDay {
	now := v.clock.Now.In(v.clock.Zone)
	days := make([]weekDay, 7)
	for i := range days {
		days[i].Name = now.AddDate(0, 0, i).Format("Mon 2")
	}
	days[0].Name = "Today, " + days[0].Name
	return days
}

// plan puts the times of a schedule into the calendar.
func (page *schedulesPage) plan(ctx context.Context, v *visit, s *api.Schedule) error {
	now := v.clock.Now.In(v.clock.Zone)
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, v.clock.Zone)
	end := today.AddDate(0, 0, len(page.Week)).Add(-1)
	if !s.Until.IsZero() && s.Until.Before(end) {
		end = s.Until
	}
	times := s.Next
	if s.Cron != "" && !s.Paused && end.After(now) {
		var err error
		if times, err = v.api.Times(ctx, client.Times{Cron: s.Cron, Zone: s.Zone, From: now.Add(time.Nanosecond), To: end, N: mostWeek}); err != nil {
			return err
		}
	}
	if len(times) == mostWeek { // too often to be counted
		for i := range page.Week {
			page.Week[i].Entries = append(page.Week[i].Entries, weekEntry{howOften(times) + ": " + s.Name, s.ID, true, end})
		}
		return nil
	}
	days := make([][]time.Time, len(page.Week))
	for _, at := range times {
		at = at.In(v.clock.Zone)
		day := int(time.Date(at.Year(), at.Month(), at.Day(), 12, 0, 0, 0, time.UTC).Sub(
			time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, time.UTC)) / (24 * time.Hour))
		if day >= 0 && day < len(days) && !at.After(end) {
			days[day] = append(days[day], at)
		}
	}
	for i, on := range days {
		page.Week[i].add(s, on)
	}
	return nil
}

// howOften says how far apart many times are, if it is always the same.
func howOften(times []time.Time) string {
	apart := times[1].Sub(times[0])
	for i := range len(times) - 1 {
		if times[i+1].Sub(times[i]) != apart {
			return "Often"
		}
	}
	return "Every " + format.Duration(apart)
}

// add adds the times of a schedule on one day: each of a few, or how many they are.
func (d *weekDay) add(s *api.Schedule, times []time.Time) {
	if len(times) > mostDay {
		d.Entries = append(d.Entries, weekEntry{fmt.Sprintf("%d × %s", len(times), s.Name), s.ID, true, times[len(times)-1].Add(24 * time.Hour)})
		return
	}
	for _, at := range times {
		d.Entries = append(d.Entries, weekEntry{at.Format("15:04") + " " + s.Name, s.ID, false, at})
	}
}

// scheduleLine prepares a schedule for a page.
func (v *visit) scheduleLine(ctx context.Context, s api.Schedule) (line scheduleLine, err error) {
	line = scheduleLine{Schedule: s, Sign: sign{"running", "On", "running"}, When: whenOf(&s)}
	line.Overlap = nameOf(overlaps, cmp.Or(s.Overlap, "skip"))
	switch {
	case s.Paused:
		line.Sign, line.Next = sign{"paused", "Paused", "paused"}, "None while paused"
	case len(s.Next) == 0:
		line.Sign, line.Next, line.Over = sign{"done", "Over", "cancelled"}, "None", true
	default:
		line.Next, line.Left = capital(v.when(s.Next[0], s.Zone)), "in "+coarse(s.Next[0].Sub(v.clock.Now))
	}
	if len(s.History) > 0 {
		last, err := v.fire(ctx, s.History[0])
		if err != nil {
			return line, err
		}
		line.Last = &last
	}
	return line, nil
}

// capital writes a text as the beginning of a sentence.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// coarse writes a span in steps that do not change all the time.
func coarse(d time.Duration) string {
	if d < time.Minute {
		return "less than a minute"
	}
	if d > time.Hour {
		return format.Duration(d.Truncate(time.Hour))
	}
	return format.Duration(d.Truncate(time.Minute))
}

// when writes a time in the viewer's zone, with the day, and in the zone of a schedule beside if that is another.
func (v *visit) when(at time.Time, zone string) string {
	mine, now := at.In(v.clock.Zone), v.clock.Now.In(v.clock.Zone)
	text := "today " + mine.Format("15:04")
	if mine.Format(time.DateOnly) != now.Format(time.DateOnly) {
		text = mine.Format("Mon 2 Jan 15:04")
		if mine.Year() != now.Year() {
			text = mine.Format("Mon 2 Jan 2006 15:04")
		}
	}
	there, err := time.LoadLocation(zone)
	if zone == "" || err != nil {
		return text
	}
	if theirs := at.In(there); theirs.Format("2 15:04") != mine.Format("2 15:04") {
		text += " (" + theirs.Format("15:04") + " in " + strings.ReplaceAll(zone[strings.LastIndex(zone, "/")+1:], "_", " ") + ")"
	}
	return text
}

var fireSigns = map[string]sign{"fired": {"done", "Fired", "done"}, "retrying": {"retry", "Trying again", "waiting"},
	"failed": {"failed", "Failed", "failed"}, "skipped": {"waiting", "Skipped", "waiting"}, "missed": {"cancelled", "Missed", "cancelled"}}

// fire says what came of one time of a schedule, with the counts of its bulk action if that is still kept.
func (v *visit) fire(ctx context.Context, f api.ScheduledFire) (fireView, error) {
	view := fireView{ScheduledFire: f, Sign: fireSigns[f.Result], Due: v.clock.Time(f.Slot), Words: f.Reason, Name: f.BulkAction}
	if !f.Until.IsZero() {
		view.Due += " to " + v.clock.Time(f.Until)
	}
	switch {
	case view.Words != "":
	case f.Origin == "backfill":
		view.Words = "Made up for by a backfill"
	case f.Result == "fired" && f.At.Sub(f.Slot) >= time.Minute:
		view.Words = format.Duration(f.At.Sub(f.Slot).Truncate(time.Second)) + " late"
	case f.Result == "fired":
		view.Words = "On time"
	}
	if f.BulkAction == "" {
		return view, nil
	}
	b, err := v.api.Get(ctx, f.BulkAction)
	switch {
	case client.IsCode(err, "not_found"):
		view.Words = strings.TrimPrefix(view.Words+". Its bulk action was removed after its time", ". ")
		view.BulkAction = ""
	case err != nil:
		return view, err
	default:
		view.Name, view.Items, view.Failed = cmp.Or(b.Name, b.ID), format.Count(b.Counts.Total), b.Counts.Failed
	}
	return view, nil
}
