package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// picky is an action that answers for each item by itself.
func picky(name string, answer func(b *weir.Batch[json.RawMessage, json.RawMessage], i int)) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, Resource: weir.Resource{Name: name}, Retry: weir.Backoff{Base: 10 * time.Millisecond},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				answer(b, i)
			}
			return nil
		},
	})
}

// tenth reports whether an item is one of ten.
func tenth(b *weir.Batch[json.RawMessage, json.RawMessage], i int) bool {
	return strings.HasSuffix(b.Item(i).ID, "7")
}

// chained makes a bulk action of so many items with the given steps and more in its request.
func chained(r *nodetest.Node, items int, steps, more string) (b api.BulkAction) {
	var list strings.Builder
	for i := range items {
		fmt.Fprintf(&list, `,{"id":"%d","data":{"vip":%t}}`, i, i%10 == 7)
	}
	r.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[%s],"items":[%s]%s}`, steps, list.String()[1:], more), 201, &b)
	return b
}

// within reports whether a time is as it should be, but for a tenth.
func within(got, want time.Duration) bool { return got > want*9/10 && got < want*11/10 }

// TestAForecastKnowsWhatItemsMeet: how many are tried again, and how many do not come
// to the next step.
func TestAForecastKnowsWhatItemsMeet(t *testing.T) {
	again := picky("again", func(b *weir.Batch[json.RawMessage, json.RawMessage], i int) {
		if b.Attempt() == 1 && tenth(b, i) {
			b.Retry(i, errors.New("not yet"), 0)
		} else {
			b.Done(i, nil)
		}
	})
	fails := picky("fails", func(b *weir.Batch[json.RawMessage, json.RawMessage], i int) {
		if tenth(b, i) {
			b.Fail(i, "bad", errors.New("never"))
		} else {
			b.Done(i, nil)
		}
	})
	for _, tt := range []struct {
		name, steps, slow string
		takes             time.Duration
	}{
		{"a tenth is tried again", `{"action":"again"}`, "again", 66 * time.Second},
		{"a tenth fails at the step before", `{"action":"fails"},{"action":"mail"}`, "mail", 54 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{again, fails, limited("mail", 0)}})
			warm := chained(r, 2000, tt.steps, `,"start":true`)
			r.Until(warm.ID, api.Completed)
			r.Call("PUT", "/v1/resources/"+tt.slow, `{"rate":"100/s"}`, 200, nil)
			b := chained(r, 6000, tt.steps, "")
			var f api.Forecast
			r.Eventually("a forecast that knows it", func() bool { // nodes tell what they saw once a second
				r.Call("POST", "/v1/bulk-actions/"+b.ID+"/forecast", `{}`, 200, &f)
				got := time.Duration(f.Takes.P50)
				return got > tt.takes*96/100 && got < tt.takes*104/100
			})
		})
	}
}

// TestAForecastLooksAtConditions: before anything has run, some of the items tell which
// part of them a step is called for, unless that depends on what a step before answers.
func TestAForecastLooksAtConditions(t *testing.T) {
	r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("award", 200), limited("mail", 20)}})
	for _, tt := range []struct {
		name, steps string
		takes       time.Duration
		says        string
	}{
		{"a tenth is called at the slow step", `{"action":"award"},{"action":"mail","when":"item.vip","otherwise":"skip"}`, 30 * time.Second, "mail is assumed to be called for 10% of the items"},
		{"a tenth comes to the slow step", `{"action":"award","when":"item.vip"},{"action":"mail"}`, 30 * time.Second, "award is assumed to be called for 10% of the items"},
		{"who is not called twice counts once", `{"action":"award","when":"item.vip","otherwise":"skip"},{"action":"mail","when":"!item.vip && params.all","otherwise":"skip"}`, 3 * time.Second, "mail is assumed to be called for 0% of the items"},
		{"it depends on an answer", `{"action":"award"},{"action":"mail","when":"steps.award.output.ok","otherwise":"skip"}`, 300 * time.Second, "All items are assumed to meet the condition of mail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := chained(r, 6000, tt.steps, `,"params":{"all":false}`)
			var f api.Forecast
			r.Call("POST", "/v1/bulk-actions/"+b.ID+"/forecast", `{}`, 200, &f)
			if got := time.Duration(f.Takes.P50); !within(got, tt.takes) {
				t.Errorf("it is said to take %v, want %v: %v", got, tt.takes, f.Assumptions)
			}
			if all := strings.Join(f.Assumptions, " "); !strings.Contains(all, tt.says) {
				t.Errorf("it assumes %q, want %q", all, tt.says)
			}
		})
	}
}

// TestTheETAIsThatOfTheModel: of what stands where, beside what others still have to do.
func TestTheETAIsThatOfTheModel(t *testing.T) {
	progress := func(r *nodetest.Node, id string) (p api.Progress) {
		r.Call("GET", "/v1/bulk-actions/"+id+"/progress", "", 200, &p)
		return p
	}
	left := func(p *api.Progress) int64 { return p.Counts.Total - p.Counts.Done - p.Counts.Failed }
	t.Run("beside one that is about to end", func(t *testing.T) {
		r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("mail", 100)}})
		flood := many(r, 1000, `"tenant":"flood","start":true`)
		b := many(r, 3000, `"tenant":"a","start":true`)
		r.Eventually("an ETA with the rate that is free when the other has ended", func() bool {
			other, p := progress(r, flood.ID), progress(r, b.ID)
			want := time.Duration(left(&p)+left(&other)) * 10 * time.Millisecond
			return p.Rate > 0 && p.Rate < 80 && left(&other) > 200 && within(time.Duration(p.ETA), want)
		})
	})
	t.Run("of a chain whose items are on their way", func(t *testing.T) {
		r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("award", 1000), limited("mail", 100)}})
		b := chained(r, 3000, `{"action":"award"},{"action":"mail"}`, `,"start":true`)
		r.Eventually("an ETA that goes by what the slow step still has to do", func() bool {
			p := progress(r, b.ID)
			return p.Counts.Done > 0 && within(time.Duration(p.ETA), time.Duration(left(&p))*10*time.Millisecond)
		})
	})
	t.Run("of a step that most items skip", func(t *testing.T) {
		r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("award", 200), limited("mail", 20)}})
		b := chained(r, 6000, `{"action":"award"},{"action":"mail","when":"item.vip","otherwise":"skip"}`, `,"start":true`)
		r.Eventually("an ETA with the share that is called", func() bool { // a tenth of 6,000 at 20/s, and all of them at 200/s
			p := progress(r, b.ID)
			return p.Counts.Done > 300 && within(time.Duration(p.ETA), time.Duration(left(&p))*5*time.Millisecond)
		})
	})
}
