package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func TestAScheduleIsChangedAsAWhole(t *testing.T) {
	c, ctx := real(t), t.Context()
	what := api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}, Source: &api.Source{Segment: &api.SegmentSource{URL: "http://127.0.0.1:1/users"}}}
	s, err := c.Schedules().Create(ctx, api.Schedule{Name: "weekly", Cron: "0 9 * * 1", BulkAction: what})
	if err != nil {
		t.Fatal(err)
	}
	put, err := c.Schedules().Put(ctx, s.ID, api.Schedule{Name: "daily", Cron: "30 6 * * *", Zone: "Asia/Tokyo", BulkAction: what})
	if err != nil || put.ID != s.ID || put.Name != "daily" || len(put.Next) == 0 || put.Next[0].UTC().Format("15:04") != "21:30" {
		t.Errorf("changed to %+v, %v", put, err)
	}
	if again, err := c.Schedules().Get(ctx, s.ID); err != nil || again.Cron != "30 6 * * *" || again.Zone != "Asia/Tokyo" {
		t.Errorf("stored as %+v, %v", again, err)
	}
}

func TestAWebhookIsChangedRotatedAndItsDeliveriesAreShown(t *testing.T) {
	c, ctx := real(t), t.Context()
	got := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path + " " + r.Header.Get("webhook-signature")
	}))
	t.Cleanup(receiver.Close)
	w, err := c.Webhooks().Create(ctx, api.Webhook{URL: receiver.URL + "/old"})
	if err != nil || w.Secret == "" {
		t.Fatalf("%+v, %v", w, err)
	}
	if w2, err := c.Webhooks().Put(ctx, w.ID, api.Webhook{URL: receiver.URL + "/new", Note: "ours", Events: []string{"bulk_action.failed"}}); err != nil || w2.Note != "ours" || w2.Secret != "" {
		t.Errorf("changed to %+v, %v", w2, err)
	}
	keep := api.Duration(time.Hour)
	rotated, err := c.RotateWebhook(ctx, w.ID, api.Rotate{Keep: &keep})
	if err != nil || rotated.Secret == "" || rotated.Secret == w.Secret {
		t.Errorf("rotated to %+v, %v", rotated, err)
	}
	if shown, err := c.Webhooks().Get(ctx, w.ID); err != nil || shown.URL != receiver.URL+"/new" || shown.Secret != "" || len(shown.Events) != 1 {
		t.Errorf("shown as %+v, %v", shown, err)
	}
	sent, err := c.TestWebhook(ctx, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if seen := <-got; !strings.HasPrefix(seen, "/new v1,") || strings.Count(seen, "v1,") != 2 {
		t.Errorf("the receiver got %q, want it at /new with a signature of each secret", seen)
	}
	if d, err := c.Delivery(ctx, sent.ID); err != nil || d.Webhook != w.ID || len(d.Attempts) != 1 {
		t.Errorf("delivery %+v, %v", d, err)
	}
}

func TestFailedItemsAreDownloadedByFilter(t *testing.T) {
	c, ctx := real(t), t.Context()
	b, err := c.Create(ctx, api.NewBulkAction{Start: true, Steps: []api.Step{{Action: "picky"}}, Items: []api.Item{{ID: "u1", Data: []byte(`{"is":"bad"}`)}, {ID: "u2", Data: []byte(`{"is":"good"}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Watch(ctx, b.ID) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[string]int{"is_bad": 1, "other": 0} {
		r, err := c.DLQResults(ctx, api.DLQFilter{Code: code}, "ndjson")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || strings.Count(string(raw), "\n") != want {
			t.Errorf("%s: %q, %v; want %d lines", code, raw, err, want)
		}
	}
	if _, err := c.DLQResults(ctx, api.DLQFilter{Expression: "true"}, "csv"); err == nil || !strings.Contains(err.Error(), "expression") {
		t.Errorf("an expression, which downloads do not know: %v, want it refused by name", err)
	}
}

func TestTheRestOfTheClient(t *testing.T) {
	c, ctx := real(t), t.Context()
	b, err := c.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}, Items: []api.Item{{ID: "u1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = c.Start(ctx, b.ID, api.Start{StartAt: time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}); err != nil || b.State != api.Scheduled {
		t.Errorf("to start in an hour: %s, %v", b.State, err)
	}
	if b, err = c.Unschedule(ctx, b.ID, "not today"); err != nil || b.State != api.Sealed {
		t.Errorf("unscheduled: %s, %v", b.State, err)
	}
	draft, err := c.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}})
	if err := errors.Join(err, c.Delete(ctx, draft.ID)); err != nil {
		t.Error(err)
	}
	if _, err := c.Get(ctx, draft.ID); !client.IsCode(err, "not_found") {
		t.Errorf("after the draft was deleted: %v", err)
	}
	if d, err := c.BulkDecisions(ctx, b.ID, 5); err != nil || len(d) != 0 {
		t.Errorf("decisions %+v, %v", d, err)
	}
	if x, err := c.Tenants().Put(ctx, "acme", api.Tenant{Weight: 3, MaxTasks: 7}); err != nil || x.Weight != 3 || x.MaxTasks != 7 {
		t.Errorf("tenant %+v, %v", x, err)
	}
	if k, err := c.Keys().Create(ctx, api.Key{Name: "ci", Scopes: []string{"read"}}); err != nil {
		t.Error(err)
	} else if shown, err := c.Keys().Get(ctx, k.ID); err != nil || shown.Name != "ci" || shown.Key != "" {
		t.Errorf("key %+v, %v", shown, err)
	}
	if _, err := c.Connections().Put(ctx, "crm", api.Connection{Kind: "http", URL: "http://127.0.0.1:1/"}); err != nil {
		t.Fatal(err)
	}
	if x, err := c.Connections().Get(ctx, "crm"); err != nil || x.URL != "http://127.0.0.1:1/" {
		t.Errorf("connection %+v, %v", x, err)
	}
	if r, err := c.TestConnection(ctx, "crm", api.ConnectionTest{}); err != nil || r.OK || r.Code == "" {
		t.Errorf("test of a connection to a closed port: %+v, %v", r, err)
	}
}
