package dev

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/draft"
)

// story keeps the pages of the demo moving for as long as it runs. It uses the tenants of the panel, with actions and
// resources of its own, so that it does not slow down what the panel shows.
type story struct {
	service *service.Service
	client  *client.Client
	// carts is the address of a segment, for a schedule. Empty: no schedule.
	carts string
}

// scene is a bulk action of the story. It comes again and again: the next one a while after the last has ended.
type scene struct {
	name, tenant string
	actions      []string
	items        int
	canary       int64 // items that run first, and wait for approval
	first, pause time.Duration
	keep         time.Duration // after its end
}

// scenes: a flood that takes minutes, small bulk actions that pass it, one that waits for a person, one whose service is
// down at times, and one that has ended with failures. What has ended is soon removed: a demo that runs all day must not
// fill the memory, and the newest twenty on the first page are to show all of it.
var scenes = []scene{
	{name: "Winter sale", tenant: "flood", actions: []string{demo.Push}, items: 60_000, pause: 5 * time.Second, keep: 2 * time.Minute},
	{name: "Loyalty statement", tenant: "acme", actions: []string{demo.Email}, items: 400, pause: 10 * time.Minute, keep: 15 * time.Minute},
	{name: "New price list", tenant: "beta", actions: []string{demo.Email, demo.Push}, items: 2_000, canary: 100, pause: 3 * time.Minute, keep: 30 * time.Minute},
	{name: "Delivery texts", tenant: "acme", actions: []string{demo.SMS}, items: 6_000, pause: 5 * time.Second, keep: 2 * time.Minute},
	{name: "Order updates", tenant: "acme", actions: []string{demo.Push}, items: 900, first: 2 * time.Second, pause: 20 * time.Second, keep: time.Minute},
	{name: "Trial reminders", tenant: "beta", actions: []string{demo.Push}, items: 900, first: 3 * time.Second, pause: 25 * time.Second, keep: time.Minute},
}

// smsOutage is the incident of the story: soon after the start, and then every few minutes.
var smsOutage = demo.Outage{After: time.Second, For: 40 * time.Second, Every: 4 * time.Minute}

const (
	lookEvery  = 2 * time.Second  // at whether a bulk action has ended
	retryAfter = 10 * time.Second // if one cannot be made now
)

// prepare makes what the story leaves to people: a template to try the wizard with, and a schedule.
func (s *story) prepare(ctx context.Context) error {
	_, err := s.client.Templates().Put(ctx, "price-change", priceChange)
	if err != nil || s.carts == "" {
		return err
	}
	_, err = s.client.Schedules().Create(ctx, api.Schedule{
		Name: "Cart reminders", Tenant: "beta", Cron: "*/5 * * * *",
		BulkAction: api.NewBulkAction{
			Name: "Cart reminders", Steps: []api.Step{{Action: demo.Push}}, ItemID: "user_id", KeepFor: api.Duration(6 * time.Minute),
			Source: &api.Source{Segment: &api.SegmentSource{URL: s.carts}},
		},
	})
	return err
}

// priceChange is a template for a campaign manager, who has nothing but a list.
var priceChange = api.Template{
	Title:       "Price change",
	Description: "Tells customers by e-mail about a new price. Paste their ids, such as user-1 and user-42 in two lines.",
	Params: []api.TemplateParam{{Name: "price", Type: "number", Title: "New price per month",
		Default: json.RawMessage("12"), Min: json.RawMessage("1"), Max: json.RawMessage("99")}},
	BulkAction: api.NewBulkAction{
		Steps:      []api.Step{{Action: demo.Email, Input: map[string]string{"price": "params.price"}}},
		Duplicates: "keep_first", OnBadLine: "record", Rules: api.Rules{Canary: &api.Canary{Percent: 10}},
	},
}

// run plays all scenes until ctx ends.
func (s *story) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, sc := range scenes {
		wg.Go(func() { s.play(ctx, sc) })
	}
	wg.Wait()
}

// play makes the bulk action of a scene, waits for its end and for a while, and begins again.
func (s *story) play(ctx context.Context, sc scene) {
	if command.Sleep(ctx, sc.first) != nil {
		return
	}
	for ctx.Err() == nil {
		rest := sc.pause
		if id, err := s.make(ctx, sc); err != nil {
			rest = retryAfter
		} else {
			s.ended(ctx, id)
		}
		_ = command.Sleep(ctx, rest)
	}
}

func (s *story) make(ctx context.Context, sc scene) (id string, err error) {
	n := api.NewBulkAction{Name: sc.name, Tenant: sc.tenant, ItemID: "user_id", KeepFor: api.Duration(sc.keep), Start: true}
	for _, a := range sc.actions {
		n.Steps = append(n.Steps, api.Step{Action: a})
	}
	if sc.canary > 0 {
		n.Canary = &api.Canary{Items: sc.canary}
	}
	b, err := s.service.Bulks.Create(ctx, n, draft.Made{Items: noErrors(demo.People(sc.items))})
	return b.ID, err
}

// ended waits until a bulk action has ended, or is not there any more.
func (s *story) ended(ctx context.Context, id string) {
	for command.Sleep(ctx, lookEvery) == nil {
		if b, err := s.client.Get(ctx, id); err != nil || b.State.Final() {
			return
		}
	}
}
