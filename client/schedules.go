package client

import (
	"context"
	"iter"
	"time"

	"github.com/weirhq/weir/api"
)

// Schedules yields the schedules, the oldest first.
func (c *Client) Schedules(ctx context.Context) iter.Seq2[api.Schedule, error] {
	return list[api.Schedule](ctx, c, route("schedules"))
}

// Schedule returns a schedule, with its next times and what came of the last ones.
func (c *Client) Schedule(ctx context.Context, id string) (api.Schedule, error) {
	return get[api.Schedule](ctx, c, "GET", route("schedules", id), nil)
}

// CreateSchedule has bulk actions made by the clock.
func (c *Client) CreateSchedule(ctx context.Context, s api.Schedule) (api.Schedule, error) {
	return get[api.Schedule](ctx, c, "POST", route("schedules"), s)
}

// PutSchedule changes a schedule as a whole.
func (c *Client) PutSchedule(ctx context.Context, id string, s api.Schedule) (api.Schedule, error) {
	return get[api.Schedule](ctx, c, "PUT", route("schedules", id), s)
}

// DeleteSchedule removes a schedule; what it has made stays.
func (c *Client) DeleteSchedule(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", route("schedules", id), nil, nil)
}

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
