package server

import (
	"cmp"
	"context"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/schedule"
)

const schedulePath = "/v1/schedules"

// ScheduleID is the id in a path; exported for huma.
type ScheduleID struct {
	ID string `path:"id" maxLength:"128" doc:"Id of the schedule" example:"sch_01k9x2v6w4s8m1c7q3d5f9h0jz"`
}

// schedules serves schedules.
type schedules struct {
	*Server
	keeper *schedule.Keeper
}

func (s *Server) scheduleRoutes() {
	h := schedules{s, s.opts.Schedules}
	tag := "schedules"
	one := schedulePath + "/{id}"
	add(s, post(access.Submit, "schedule.create", schedulePath, tag, "Create a schedule").creates().
		about("A schedule creates bulk actions by a cron rule in a time zone, or once. Each time gets exactly one bulk "+
			"action, even if a server fails meanwhile."), h.createSchedule)
	add(s, get(access.Read, "schedule.list", schedulePath, tag, "List schedules, the oldest first"), h.listSchedules)
	add(s, get(access.Read, "schedule.get", one, tag,
		"Get a schedule, with its next times and its last results"), h.getSchedule)
	add(s, put(access.Submit, "schedule.change", one, tag, "Change a schedule"), h.changeSchedule)
	add(s, del(access.Submit, "schedule.delete", one, tag, "Delete a schedule; its bulk actions stay"), h.deleteSchedule)
	add(s, post(access.Control, "schedule.pause", one+"/pause", tag, "Pause a schedule").
		about("Times that pass during the pause are not caught up."), h.pauseSchedule((*schedule.Keeper).Pause))
	add(s, post(access.Control, "schedule.resume", one+"/resume", tag,
		"Resume a schedule from now on"), h.pauseSchedule((*schedule.Keeper).Resume))
	add(s, post(access.Submit, "schedule.backfill", one+"/backfill", tag, "Create the bulk actions of past times").
		about("Creates them one after the other, except those that exist already."), h.backfill)
	add(s, get(access.Read, "schedule.next", one+"/next", tag, "List the next times of a schedule"), h.nextTimes)
	add(s, get(access.Read, "schedule.times", "/v1/schedule-times", tag, "List the times of a cron rule, without a schedule").
		about("Shows when a schedule would fire before it is created, or which times a backfill would make up for."), ruleTimes)
}

// mySchedule finds a schedule that the caller sees.
func (s schedules) mySchedule(ctx context.Context, id string) (*schedule.Schedule, error) {
	sch, err := s.keeper.Get(ctx, id)
	if err == nil && !sees(ctx, sch.Tenant) {
		return nil, weir.ErrNotFound
	}
	if err == nil {
		changed(ctx, id, sch.Tenant)
	}
	return sch, err
}

// taggedSchedule is the answer with a schedule in it.
func (s schedules) taggedSchedule(sch *schedule.Schedule, note string, err error) (*tagged[api.Schedule], error) {
	if err != nil {
		return nil, scheduleFault(err)
	}
	view, err := viewSchedule(sch)
	view.Note = note
	return &tagged[api.Schedule]{`"` + sch.Version() + `"`, view}, err
}

// madeSchedule is the answer to a schedule's creation.
type madeSchedule struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     api.Schedule
}

func (s schedules) createSchedule(ctx context.Context, in *request[api.Schedule]) (*madeSchedule, error) {
	tenant, err := tenantFor(ctx, "tenant", in.Body.Tenant)
	if err != nil {
		return nil, err
	}
	spec, note, err := s.scheduleSpec(ctx, &in.Body, tenant, nil)
	if err != nil {
		return nil, err
	}
	id, err := s.reserve(ctx, func() (string, error) { return schedule.NewID(), nil })
	if err != nil {
		return nil, err
	}
	sch, err := s.keeper.CreateAs(ctx, id, *spec, caller(ctx).KeyID)
	out, err := s.taggedSchedule(sch, note, err)
	if err != nil {
		return nil, err
	}
	changed(ctx, sch.ID, tenant)
	visitOf(ctx).after = out.Body
	return &madeSchedule{s.at(schedulePath + "/" + sch.ID), out.ETag, out.Body}, nil
}

func (s schedules) listSchedules(ctx context.Context, in *Paging) (*body[api.Page[api.Schedule]], error) {
	return answer(pageOf(in, lister[schedule.Schedule, api.Schedule]{
		name: "schedules",
		read: func(after string, limit int) ([]schedule.Schedule, string, error) {
			return s.keeper.List(ctx, after, limit)
		},
		id:   func(sch *schedule.Schedule) string { return sch.ID },
		view: viewSchedule,
		sees: func(sch *schedule.Schedule) bool { return sees(ctx, sch.Tenant) },
	}))
}

func (s schedules) getSchedule(ctx context.Context, in *ScheduleID) (*tagged[api.Schedule], error) {
	sch, err := s.mySchedule(ctx, in.ID)
	return s.taggedSchedule(sch, "", err)
}

type changeScheduleInput struct {
	ScheduleID
	IfMatch
	Body api.Schedule
}

func (s schedules) changeSchedule(ctx context.Context, in *changeScheduleInput) (*tagged[api.Schedule], error) {
	before, err := s.mySchedule(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if t := in.Body.Tenant; t != "" && t != before.Tenant {
		return nil, &weir.FieldError{Code: "bad_value", Field: "tenant", Problem: "cannot be changed", Fix: "create another schedule"}
	}
	spec, note, err := s.scheduleSpec(ctx, &in.Body, before.Tenant, before)
	if err != nil {
		return nil, err
	}
	after, err := s.keeper.Update(ctx, in.ID, in.version(), func(old *schedule.Spec) error { *old = *spec; return nil })
	out, err := s.taggedSchedule(after, note, err)
	if err != nil {
		return nil, err
	}
	was, err := viewSchedule(before)
	visitOf(ctx).before, visitOf(ctx).after = was, out.Body
	return out, err
}

type deleteScheduleInput struct {
	ScheduleID
	IfMatch
}

func (s schedules) deleteSchedule(ctx context.Context, in *deleteScheduleInput) (*nothing, error) {
	sch, err := s.mySchedule(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	was, err := viewSchedule(sch)
	if err != nil {
		return nil, err
	}
	visitOf(ctx).before = was
	return &nothing{}, s.keeper.Delete(ctx, in.ID, in.version())
}

type scheduleVerbInput struct {
	ScheduleID
	IfMatch
	Body *api.Verb
}

// pauseSchedule is pause or resume.
func (s schedules) pauseSchedule(do func(k *schedule.Keeper, ctx context.Context, id, version string) (*schedule.Schedule,
	error)) func(context.Context, *scheduleVerbInput) (*tagged[api.Schedule], error) {
	return func(ctx context.Context, in *scheduleVerbInput) (*tagged[api.Schedule], error) {
		if _, err := s.mySchedule(ctx, in.ID); err != nil {
			return nil, err
		}
		sch, err := do(s.keeper, ctx, in.ID, in.version())
		return s.taggedSchedule(sch, "", err)
	}
}

type backfillInput struct {
	ScheduleID
	Body api.Backfill
}

func (s schedules) backfill(ctx context.Context, in *backfillInput) (*body[api.ScheduleTimes], error) {
	if _, err := s.mySchedule(ctx, in.ID); err != nil {
		return nil, err
	}
	slots, err := s.keeper.Backfill(ctx, in.ID, in.Body.From, in.Body.To)
	visitOf(ctx).after = in.Body
	return answer(api.ScheduleTimes{Times: orEmpty(slots)}, err)
}

type nextInput struct {
	ScheduleID
	N int `query:"n" minimum:"1" maximum:"100" default:"5" doc:"Number of times"`
}

func (s schedules) nextTimes(ctx context.Context, in *nextInput) (*body[api.ScheduleTimes], error) {
	sch, err := s.mySchedule(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	times, err := nextOf(sch, in.N)
	return answer(api.ScheduleTimes{Times: orEmpty(times)}, err)
}

type ruleTimesInput struct {
	Cron string    `query:"cron" required:"true" maxLength:"256" doc:"Five fields: minute, hour, day, month, weekday" example:"0 9 * * 1"`
	Zone string    `query:"zone" maxLength:"64" doc:"IANA zone of cron. Default UTC" example:"Asia/Tokyo"`
	From time.Time `query:"from" doc:"Times from this one on. Default: after now"`
	To   time.Time `query:"to" doc:"Times up to this one. Default: no end"`
	N    int       `query:"n" minimum:"1" maximum:"1000" default:"5" doc:"Maximum number of times"`
}

// ruleTimes lists when a rule fires.
func ruleTimes(_ context.Context, in *ruleTimesInput) (*body[api.ScheduleTimes], error) {
	rule, err := schedule.ParseRule(in.Cron, cmp.Or(in.Zone, "UTC"))
	if err != nil {
		return nil, scheduleFault(err)
	}
	from := in.From
	if from.IsZero() {
		from = time.Now()
	}
	var times []time.Time
	if in.To.IsZero() {
		times = schedule.NextN(rule, from.Add(-1), in.N)
	} else {
		times = schedule.Slots(rule, from, in.To, in.N)
	}
	for i := range times {
		times[i] = times[i].UTC()
	}
	return answer(api.ScheduleTimes{Times: orEmpty(times)}, nil)
}
