package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

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
