package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// scheduleSheet makes the form of a schedule.
func (v *visit) scheduleSheet(ctx context.Context, s *api.Schedule) (*sheet, error) {
	rest, source, err := v.split(ctx, &s.BulkAction)
	if err != nil {
		return nil, err
	}
	what, err := v.whatInputs(ctx, s, definition(rest) != "")
	if err != nil {
		return nil, err
	}
	from, err := v.sourceInputs(ctx, source)
	if err != nil {
		return nil, err
	}
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
	first := []*input{
		{Name: "name", Group: "What it makes", Half: true, Label: "Name", Value: s.Name, Needed: true},
		{Name: "tenant", Half: true, Label: "Tenant", Value: s.Tenant, Fixed: s.ID != "", Hint: "Empty: the only tenant of your key, else default."},
	}
	return &sheet{nav: "Schedules", Up: "/schedules", UpName: "Schedules", Scope: "submit", Check: "Show the next times", Try: "Try the source", Once: s.ID == "",
		Inputs: slices.Concat(first, what, from, []*input{
			{Name: "every", Group: "When", Label: "How often", Half: true, Kind: "select", Options: everies, Value: p.every},
			{Name: "time", Half: true, Of: "day weekdays week month", Label: "At", Kind: "time", Value: p.time},
			{Name: "weekday", Half: true, Of: "week", Label: "Weekday", Kind: "select", Options: weekdays, Value: p.weekday},
			{Name: "day", Half: true, Of: "month", Label: "Day of the month", Kind: "number", Value: p.day, Hint: "1 to 31. Months without that day are left out."},
			{Name: "cron", Half: true, Of: "own", Label: "Own rule, as cron", Value: p.cron, Place: "0 9 * * 1", Hint: "Five fields: minute, hour, day, month, weekday."},
			{Name: "at", Half: true, Of: "once", Label: "Once, at", Kind: "datetime-local", Value: once, Hint: "A time in the zone beside."},
			{Name: "zone", Half: true, Label: "Time zone", Value: zone, Place: "UTC", Hint: "Such as Europe/Berlin. Summer time is followed."},
			{Name: "overlap", Group: "If something is in the way", Half: true, Label: "If the bulk action before is still running", Kind: "select", Options: overlaps, Value: cmp.Or(s.Overlap, "skip")},
			{Name: "catch_up", Half: true, Label: "Run missed times late, up to", Value: catchUp, Place: "1h", Hint: "After an outage. Such as 90s, 30m or 6h."},
			{Name: "catch_up_all", Label: "Run every missed time, not only the newest", Kind: "check", Value: checked(s.CatchUpAll)},
			{Name: "until", Label: "Ends, optional", Kind: "datetime-local", Value: until, Hint: "In your time. It does not fire after this."},
			{Name: "bulk_action", Label: "Bulk action, as JSON or YAML", Kind: "code", Folded: true, Value: definition(rest),
				Hint: "What the fields above do not say. Without a template or a bulk action to begin with: its steps, and the source of its items or the items."},
		})}, nil
}

// split takes out of a bulk action what the form has fields for.
func (v *visit) split(ctx context.Context, n *api.NewBulkAction) (rest api.NewBulkAction, source *api.Source, err error) {
	rest = *n
	if rest.Template != "" {
		rest.Template, rest.Params = "", nil
	}
	if name := sourceOf(n.Source).Connection; n.Source != nil && n.Source.Upload == "" {
		var c api.Connection
		if name != "" {
			if c, err = v.api.Connections().Get(ctx, name); err != nil && !client.IsCode(err, "not_found") {
				return rest, nil, err
			}
		}
		if plainSource(n.Source, c.Kind) {
			rest.Source, source = nil, n.Source
		}
	}
	return rest, source, nil
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

func (d *Dashboard) newSchedule(ctx context.Context, v *visit) (*sheet, error) {
	x := api.Schedule{BulkAction: api.NewBulkAction{Template: v.URL.Query().Get("template")}}
	if like := v.URL.Query().Get("like"); like != "" {
		b, err := v.api.Get(ctx, like)
		if err != nil {
			return nil, err
		}
		x.Name, x.Tenant = b.Name, b.Tenant
	}
	s, err := v.scheduleSheet(ctx, &x)
	if err == nil {
		s.Title, s.Button, s.Stay = "New schedule", "Create the schedule", "Create nothing"
		s.Text = "A schedule makes a bulk action at each of its times. Nothing is saved before the last button."
		err = v.addAsks(ctx, s, &x)
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
		err = v.addAsks(ctx, s, &old)
	}
	return s, err
}

// addAsks adds to the text of a form that each time waits for a person.
func (v *visit) addAsks(ctx context.Context, s *sheet, x *api.Schedule) error {
	asks, err := v.asks(ctx, x)
	if asks != "" {
		s.Text += " " + asks
	}
	return err
}

// schedule reads the form of a schedule.
func (s *sheet) schedule(ctx context.Context, v *visit) (x api.Schedule, err error) {
	if x.BulkAction, err = s.bulkAction(ctx, v); err != nil {
		return x, err
	}
	x.Name, x.Tenant, x.Zone = s.at("name").Value, s.at("tenant").Value, s.at("zone").Value
	x.Overlap, x.CatchUp, x.CatchUpAll = s.at("overlap").Value, s.duration("catch_up"), s.at("catch_up_all").Checked()
	x.Until = s.moment("until", v.clock.Zone)
	p := plainRule{s.at("every").Value, s.at("time").Value, s.at("weekday").Value, s.at("day").Value, s.at("cron").Value}
	if p.every == "once" {
		if x.At = s.at("at").Value; x.At == "" {
			s.at("at").Fault = "Write a date and a time."
		}
		x.Zone = cmp.Or(x.Zone, "UTC")
		return x, nil
	}
	var field, fault string
	if x.Cron, field, fault = p.rule(); fault != "" {
		s.at(field).Fault = fault
	}
	return x, nil
}

// showTimes tells when the schedule would fire.
func (s *sheet) showTimes(ctx context.Context, v *visit, x *api.Schedule) error {
	if x.At != "" {
		s.ToldOf = "It fires once, on " + x.At + " in " + x.Zone + "."
		return s.again(v)
	}
	asks, err := v.asks(ctx, x)
	if err != nil {
		return err
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
	if asks != "" {
		s.Told = append(s.Told, asks)
	}
	return s.again(v)
}

// save shows the times, or what is wrong, or saves the schedule.
func (d *Dashboard) saveSchedule(ctx context.Context, v *visit, s *sheet, save func(api.Schedule) (api.Schedule, error)) (done, error) {
	x, err := s.schedule(ctx, v)
	if err != nil {
		return done{}, err
	}
	if err := s.needSource(ctx, v, &x.BulkAction); err != nil {
		return done{}, err
	}
	if v.FormValue("try") != "" {
		return done{}, s.trySource(ctx, v, &x)
	}
	if s.bad() {
		return done{}, s.again(v)
	}
	if v.FormValue("check") != "" {
		return done{}, s.showTimes(ctx, v, &x)
	}
	if slices.ContainsFunc(s.Inputs, func(i *input) bool { return i.fresh }) {
		s.ToldOf = "Nothing is saved yet. Look at what the template asks for, under “What it makes”."
		return done{}, s.again(v)
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
