package client

import (
	"context"
	"time"

	"github.com/weirhq/weir/api"
)

// PauseSchedule makes nothing for a while.
func (c *Client) PauseSchedule(ctx context.Context, id, reason string) (api.Schedule, error) {
	return get[api.Schedule](ctx, c, "POST", route("schedules", id, "pause"), api.Verb{Reason: reason})
}

// ResumeSchedule resumes a schedule from now on.
func (c *Client) ResumeSchedule(ctx context.Context, id, reason string) (api.Schedule, error) {
	return get[api.Schedule](ctx, c, "POST", route("schedules", id, "resume"), api.Verb{Reason: reason})
}

// NextTimes are the next times of a schedule; 0: as many as the server likes to tell.
func (c *Client) NextTimes(ctx context.Context, id string, n int) ([]time.Time, error) {
	out, err := get[api.ScheduleTimes](ctx, c, "GET", with(route("schedules", id, "next"), "n", positive(n)), nil)
	return out.Times, err
}

// Backfill makes up for times that have passed, and returns those.
func (c *Client) Backfill(ctx context.Context, id string, b api.Backfill) ([]time.Time, error) {
	out, err := get[api.ScheduleTimes](ctx, c, "POST", route("schedules", id, "backfill"), b)
	return out.Times, err
}

// Times asks for the times of a cron rule, without a schedule.
type Times struct {
	// Cron has five fields; Zone is an IANA zone, UTC if empty.
	Cron, Zone string
	// From and To bound the times. Default: from now on, without an end.
	From, To time.Time
	// N is the most times; 0: as many as the server likes to tell.
	N int
}

// Times returns when a schedule would fire.
func (c *Client) Times(ctx context.Context, t Times) ([]time.Time, error) {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	out, err := get[api.ScheduleTimes](ctx, c, "GET", with(route("schedule-times"), "cron", t.Cron, "zone", t.Zone,
		"from", at(t.From), "to", at(t.To), "n", positive(t.N)), nil)
	return out.Times, err
}
