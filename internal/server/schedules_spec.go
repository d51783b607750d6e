package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/schedule"
)

// nextShown is how many next times are shown with a schedule.
const nextShown = 5

// viewSchedule is a schedule as the API shows it.
func viewSchedule(sch *schedule.Schedule) (api.Schedule, error) {
	template, err := draft.ShowTemplate(sch.Template)
	if err != nil {
		return api.Schedule{}, err
	}
	out := api.Schedule{
		ID: sch.ID, Name: sch.Name, Tenant: sch.Tenant, Cron: sch.Cron, Zone: sch.Zone, BulkAction: template,
		Overlap: string(sch.Overlap),
		CatchUp: api.Duration(sch.CatchUp.Window), CatchUpAll: sch.CatchUp.All, Paused: sch.Paused, Until: sch.End,
		Waiting: append(append([]time.Time(nil), sch.Waiting...), sch.Backfill...), CreatedAt: sch.CreatedAt.UTC(),
		ChangedAt: sch.ChangedAt.UTC(),
	}
	if !sch.At.IsZero() {
		out.At = sch.At.Format(time.RFC3339)
	}
	if !sch.Paused {
		if out.Next, err = nextOf(sch, nextShown); err != nil {
			return api.Schedule{}, err
		}
	}
	for _, f := range sch.History {
		out.History = append(out.History, api.ScheduledFire{
			Slot: f.Slot, Until: f.Until, At: f.At, Result: string(f.Result), Origin: string(f.Origin), BulkAction: f.BulkID,
			Reason: f.Reason, Tries: f.Tries,
		})
	}
	return out, nil
}

// nextOf returns when a schedule fires next.
func nextOf(sch *schedule.Schedule, n int) ([]time.Time, error) {
	times, err := sch.NextFires(time.Now(), n)
	for i := range times {
		times[i] = times[i].UTC()
	}
	return times, err
}

// scheduleSpec returns the schedule that a request describes; all its faults are reported at
// once. was is the schedule as it is, nil for a new one.
func (s schedules) scheduleSpec(ctx context.Context, n *api.Schedule, tenant string,
	was *schedule.Schedule) (spec *schedule.Spec, note string, err error) {
	var bad weir.InputError
	spec = &schedule.Spec{
		Name: n.Name, Tenant: tenant, Cron: n.Cron, Zone: n.Zone, Overlap: schedule.Overlap(n.Overlap),
		CatchUp: schedule.CatchUp{Window: time.Duration(n.CatchUp), All: n.CatchUpAll},
	}
	if !n.Until.IsZero() {
		spec.End = n.Until.UTC()
	}
	if n.Cron != "" {
		spec.Zone = cmp.Or(n.Zone, "UTC")
	}
	var old json.RawMessage
	if was != nil {
		old = was.Template
	}
	if spec.Template, err = s.svc.Drafts.NewTemplate(ctx, n.BulkAction, tenant, old); err != nil &&
		!gather(&bad, "bulk_action.", err) {
		return nil, "", err
	}
	at, note, err := onceAt(n, was)
	if err != nil {
		gather(&bad, "", err)
	}
	spec.At = at
	if was == nil { // the caller that compares a change with the old value reports its faults
		gather(&bad, "", checkSpec(*spec, n.At))
	}
	return spec, note, bad.OrNil()
}

// checkSpec looks at a spec of which template and at were looked at already, and may be missing for that.
func checkSpec(spec schedule.Spec, at string) error {
	now := time.Now()
	if len(spec.Template) == 0 {
		spec.Template = json.RawMessage("{}")
	}
	if at != "" && spec.At.IsZero() {
		spec.At = now.Add(time.Minute)
	}
	return scheduleFault(spec.Check(now))
}

// onceAt is the single moment of a schedule. One that is as it was may have passed.
func onceAt(n *api.Schedule, was *schedule.Schedule) (time.Time, string, error) {
	switch {
	case n.At == "":
		return time.Time{}, "", nil
	case was != nil && n.At == was.At.Format(time.RFC3339):
		return was.At, "", nil
	}
	at, note, err := schedule.ParseStart("at", n.At, n.Zone, time.Now())
	return at.UTC(), note, err
}

// gather adds faults to others, once each, and reports whether it could.
func gather(bad *weir.InputError, prefix string, err error) bool {
	var more weir.InputError
	if !check.AddUnder(&more, prefix, err) {
		return false
	}
	for _, f := range more.Fields {
		if !hasFault(bad, f.Field) {
			bad.Fields = append(bad.Fields, f)
		}
	}
	return true
}

func hasFault(bad *weir.InputError, field string) bool {
	for _, f := range bad.Fields {
		if f.Field == field {
			return true
		}
	}
	return false
}

// scheduleFault tells faults by the names that fields have in the API.
func scheduleFault(err error) error {
	var in *weir.InputError
	if !errors.As(err, &in) {
		return err
	}
	for _, f := range in.Fields {
		switch {
		case f.Field == "end":
			f.Field = "until"
		case f.Field == "catch_up.window":
			f.Field = "catch_up"
		case strings.HasPrefix(f.Field, "template"):
			f.Field = "bulk_action" + strings.TrimPrefix(f.Field, "template")
		}
	}
	return in
}
