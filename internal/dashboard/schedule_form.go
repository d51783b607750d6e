package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// scheduleSheet makes the form of a schedule.
func (v *visit) scheduleSheet(ctx context.Context, s *api.Schedule) (*sheet, error) {
	templates, err := collect(v.api.Templates().List(ctx), mostSchedules)
	if err != nil {
		return nil, err
	}
	from := []option{{"", "None: the bulk action below says all"}}
	for _, t := range templates {
		from = append(from, option{t.Name, cmp.Or(t.Title, t.Name)})
	}
	rest := s.BulkAction
	rest.Template, rest.Params = "", nil
	zone := s.Zone
	if zone == "" && s.ID == "" && v.clock.Zone.String() != "Local" {
		zone = v.clock.Zone.String()
	}
	p := plainOf(s.Cron)
	once := ""
	if s.At != "" {
		p.every, once = "once", localTime(s.At, zone)
	}
	until := ""
	if !s.Until.IsZero() {
		until = s.Until.In(v.clock.Zone).Format("2006-01-02T15:04")
	}
	catchUp := ""
	if s.CatchUp > 0 {
		catchUp = s.CatchUp.String()
	}
	return &sheet{nav: "Schedules", Up: "/schedules", UpName: "Schedules", Scope: "submit", Check: "Show the next times", Once: s.ID == "",
		Inputs: []*input{
			{Name: "name", Group: "What it makes", Half: true, Label: "Name", Value: s.Name, Needed: true},
			{Name: "tenant", Half: true, Label: "Tenant", Value: s.Tenant, Fixed: s.ID != "", Hint: "Empty: the only tenant of your key, else default."},
			{Name: "bulk_action.template", Label: "Template", Kind: "select", Options: from, Value: s.BulkAction.Template},
			{Name: "bulk_action.params", Label: "Parameters of the template, as JSON", Kind: "area", Value: pretty(s.BulkAction.Params), Place: `{"amount": 5}`},
			{Name: "bulk_action", Label: "Bulk action, as JSON or YAML", Kind: "code", Value: definition(rest),
				Hint: "Without a template: its steps and the source of its items. With one: only what the template leaves open."},
			{Name: "every", Group: "When", Label: "How often", Half: true, Kind: "select", Options: everies, Value: p.every},
			{Name: "time", Half: true, Label: "At", Kind: "time", Value: p.time, Hint: "For every day, weekdays, week or month."},
			{Name: "weekday", Half: true, Label: "Weekday", Kind: "select", Options: weekdays, Value: p.weekday, Hint: "For every week."},
			{Name: "day", Half: true, Label: "Day of the month", Kind: "number", Value: p.day, Hint: "For every month: 1 to 31. Months without that day are left out."},
			{Name: "cron", Half: true, Label: "Own rule, as cron", Value: p.cron, Place: "0 9 * * 1", Hint: "Five fields: minute, hour, day, month, weekday. Only with “By an own rule”."},
			{Name: "at", Half: true, Label: "Once, at", Kind: "datetime-local", Value: once, Hint: "Only with “Once”. A time in the zone below."},
			{Name: "zone", Half: true, Label: "Time zone", Value: zone, Place: "UTC", Hint: "Such as Europe/Berlin. Summer time is followed."},
			{Name: "overlap", Group: "If something is in the way", Half: true, Label: "If the bulk action before is still running", Kind: "select", Options: overlaps, Value: cmp.Or(s.Overlap, "skip")},
			{Name: "catch_up", Half: true, Label: "Run missed times late, up to", Value: catchUp, Place: "1h", Hint: "After an outage. Such as 90s, 30m or 6h."},
			{Name: "catch_up_all", Label: "Run every missed time, not only the newest", Kind: "check", Value: checked(s.CatchUpAll)},
			{Name: "until", Label: "Ends, optional", Kind: "datetime-local", Value: until, Hint: "In your time. No time after this one fires."},
		}}, nil
}

func checked(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// localTime writes a moment as an input takes it, in a zone.
func localTime(at, zone string) string {
	t, err := time.Parse(time.RFC3339, at)
	where, zoneErr := time.LoadLocation(zone)
	if err != nil || zoneErr != nil {
		return at
	}
	return t.In(where).Format("2006-01-02T15:04")
}

// definition writes a value as people edit it, empty if nothing is set.
func definition(x any) string {
	raw, err := json.Marshal(x)
	if err != nil || string(raw) == "{}" {
		return ""
	}
	return pretty(raw)
}

// define reads a value of JSON or YAML. Members that do not exist are faults.
func (s *sheet) define(name string, into any) {
	i := s.at(name)
	if i.Value == "" {
		return
	}
	raw, err := yaml.YAMLToJSON([]byte(i.Value)) // JSON is YAML, too
	if err != nil {
		i.Fault = "This is neither JSON nor YAML: " + yaml.FormatError(err, false, false)
		return
	}
	if err := strictly(raw, into); err != nil {
		i.Fault = err.Error() + "."
	}
}

func (d *Dashboard) newSchedule(ctx context.Context, v *visit) (*sheet, error) {
	s, err := v.scheduleSheet(ctx, &api.Schedule{BulkAction: api.NewBulkAction{Template: v.URL.Query().Get("template")}})
	if err == nil {
		s.Title, s.Button, s.Stay = "New schedule", "Create the schedule", "Create nothing"
		s.Text = "A schedule makes a bulk action at each of its times. Its items come from a source, which is read then."
	}
	return s, err
}

func (d *Dashboard) editSchedule(ctx context.Context, v *visit) (*sheet, error) {
	old, err := v.api.Schedules().Get(ctx, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	s, err := v.scheduleSheet(ctx, &old)
	if err == nil {
		s.Title, s.Button, s.Up, s.UpName = "Change "+old.Name, "Save the schedule", "/schedules/"+escape(old.ID), old.Name
		s.Text = "Bulk actions that it has made stay as they are."
	}
	return s, err
}

// schedule reads the form of a schedule.
func (s *sheet) schedule(v *visit) (x api.Schedule) {
	s.define("bulk_action", &x.BulkAction)
	x.BulkAction.Template = s.at("bulk_action.template").Value
	x.BulkAction.Params = s.json("bulk_action.params")
	x.Name, x.Tenant, x.Zone = s.at("name").Value, s.at("tenant").Value, s.at("zone").Value
	x.Overlap, x.CatchUp, x.CatchUpAll = s.at("overlap").Value, s.duration("catch_up"), s.at("catch_up_all").Checked()
	x.Until = s.moment("until", v.clock.Zone)
	p := plainRule{s.at("every").Value, s.at("time").Value, s.at("weekday").Value, s.at("day").Value, s.at("cron").Value}
	if p.every == "once" {
		if x.At = s.at("at").Value; x.At == "" {
			s.at("at").Fault = "Write a date and a time."
		}
		x.Zone = cmp.Or(x.Zone, "UTC")
		return x
	}
	var field, fault string
	if x.Cron, field, fault = p.rule(); fault != "" {
		s.at(field).Fault = fault
	}
	return x
}

// showTimes tells when the schedule would fire.
func (s *sheet) showTimes(ctx context.Context, v *visit, x *api.Schedule) error {
	if x.At != "" {
		s.ToldOf = "It fires once, on " + x.At + " in " + x.Zone + "."
		return s.again(v)
	}
	ask := client.Times{Cron: x.Cron, Zone: x.Zone, To: x.Until, N: 5}
	if !x.Until.IsZero() {
		ask.From = v.clock.Now
	}
	times, err := v.api.Times(ctx, ask)
	if err != nil {
		return err
	}
	s.ToldOf = "Nothing is saved yet. It would fire at these times, and so on:"
	if len(times) == 0 {
		s.ToldOf = "Nothing is saved yet. It would never fire."
	}
	for _, at := range times {
		s.Told = append(s.Told, v.when(at, x.Zone))
	}
	return s.again(v)
}

// save shows the times, or what is wrong, or saves the schedule.
func (d *Dashboard) saveSchedule(ctx context.Context, v *visit, s *sheet, save func(api.Schedule) (api.Schedule, error)) (done, error) {
	x := s.schedule(v)
	if s.bad() {
		return done{}, s.again(v)
	}
	if v.FormValue("check") != "" {
		return done{}, s.showTimes(ctx, v, &x)
	}
	made, err := save(x)
	if err != nil {
		return done{}, err
	}
	n := note{Text: made.Name + " is saved.", Then: made.Note}
	if len(made.Next) > 0 {
		n.Text = fmt.Sprintf("%s is saved, and fires next %s.", made.Name, v.when(made.Next[0], made.Zone))
	}
	return done{To: "/schedules/" + escape(made.ID), Note: n}, nil
}

func (d *Dashboard) createSchedule(ctx context.Context, v *visit, s *sheet) (done, error) {
	return d.saveSchedule(ctx, v, s, func(x api.Schedule) (api.Schedule, error) { return v.api.Schedules().Create(v.once(ctx), x) })
}

func (d *Dashboard) changeSchedule(ctx context.Context, v *visit, s *sheet) (done, error) {
	return d.saveSchedule(ctx, v, s, func(x api.Schedule) (api.Schedule, error) {
		return v.api.Schedules().Put(ctx, v.PathValue("id"), x)
	})
}

// askBackfill makes the form that makes up for past times. It is done only after it was shown how many they are.
func (d *Dashboard) askBackfill(ctx context.Context, v *visit) (*sheet, error) {
	x, err := v.api.Schedules().Get(ctx, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if x.Cron == "" {
		return nil, fmt.Errorf("%w: %s fires once, so it has no past times to make up for", errNotNow, x.Name)
	}
	return &sheet{Title: "Backfill " + x.Name, nav: "Schedules", Up: "/schedules/" + escape(x.ID), UpName: x.Name, Scope: "submit",
		Text:  "Makes the bulk actions of times that have passed, one after the other. Times that have their bulk action already are left out.",
		Check: "Show the times", Once: true,
		Inputs: []*input{
			{Name: "from", Half: true, Label: "From", Kind: "datetime-local", Needed: true, Hint: "In your time."},
			{Name: "to", Half: true, Label: "To", Kind: "datetime-local", Value: v.clock.Now.In(v.clock.Zone).Format("2006-01-02T15:04"), Needed: true},
			{Name: "reason", Label: "Reason, for the audit log"},
		}}, nil
}

func (d *Dashboard) backfill(ctx context.Context, v *visit, s *sheet) (done, error) {
	id := v.PathValue("id")
	b := api.Backfill{From: s.moment("from", v.clock.Zone), To: s.moment("to", v.clock.Zone), Reason: s.at("reason").Value}
	if b.From.IsZero() && s.at("from").Fault == "" {
		s.at("from").Fault = "Write the first time to make up for."
	}
	if b.To.IsZero() && s.at("to").Fault == "" {
		s.at("to").Fault = "Write the last time to make up for."
	}
	if s.bad() {
		return done{}, s.again(v)
	}
	shown := s.at("from").Value + " " + s.at("to").Value
	if v.FormValue("check") != "" || v.FormValue("shown") != shown {
		x, err := v.api.Schedules().Get(ctx, id)
		if err != nil {
			return done{}, err
		}
		times, err := v.api.Times(ctx, client.Times{Cron: x.Cron, Zone: x.Zone, From: b.From, To: b.To, N: mostWeek})
		if err != nil {
			return done{}, err
		}
		s.tellBackfill(v, times, shown)
		return done{}, s.again(v)
	}
	times, err := v.api.Backfill(v.once(ctx), id, b)
	if err != nil {
		return done{}, err
	}
	return done{To: "/schedules/" + escape(id), Note: note{Text: "It makes up for " + format.Plural(int64(len(times)), "time", "times") + " now, one after the other.",
		Weir: []string{fmt.Sprintf("weir schedules backfill %s --from %s --to %s", id, b.From.UTC().Format(time.RFC3339), b.To.UTC().Format(time.RFC3339))}}}, nil
}

// tellBackfill tells what a backfill would make up for, and offers to do it.
func (s *sheet) tellBackfill(v *visit, times []time.Time, shown string) {
	if len(times) == 0 {
		s.at("from").Fault = "No time of the schedule is between from and to."
		return
	}
	many := format.Plural(int64(len(times)), "time", "times")
	s.ToldOf = "Nothing has been made yet. It would make up for " + many + ":"
	for i, at := range times {
		if i == 5 && len(times) > 6 {
			s.Told = append(s.Told, fmt.Sprintf("and %d more, the last %s", len(times)-5, v.when(times[len(times)-1], "")))
			break
		}
		s.Told = append(s.Told, v.when(at, ""))
	}
	s.Button, s.Hidden = "Make up for "+many, []fact{{"shown", shown}}
}
