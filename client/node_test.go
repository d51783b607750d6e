package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// picky is an action that fails items with the word bad in them.
func picky() weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: "picky", Retry: weir.Backoff{MaxAttempts: 1},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				if strings.Contains(string(b.Item(i).Value), "bad") {
					b.Fail(i, "is_bad", errors.New("it is bad"))
					continue
				}
				b.Done(i, b.Item(i).Value)
			}
			return nil
		},
	})
}

// real is a client of a server that runs until the test ends.
func real(t *testing.T) *client.Client {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	log, s := slog.New(slog.DiscardHandler), memstore.New(memstore.Options{})
	n, e, err := assembly.Open(t.Context(), assembly.Options{
		Store: s, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, Open: true, Steps: []weir.Step{picky()}, Logger: log,
	}, engine.Options{Logger: log, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- n.Run(ctx) }()
	web := httptest.NewServer(n.Handler())
	c, err := client.New(client.Options{Server: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		n.Server().Drain()
		web.Close()
		cancel()
		if err := errors.Join(<-ended, <-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestABulkActionFromDraftToReport(t *testing.T) {
	c, ctx := real(t), t.Context()
	b, err := c.Create(ctx, api.NewBulkAction{Name: "spring", Steps: []api.Step{{Action: "picky"}}, Labels: map[string]string{"team": "growth"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // the second and third are the same append
		var part bytes.Buffer
		for j := range 100 {
			fmt.Fprintf(&part, "{\"id\":\"u%d-%d\",\"is\":%q}\n", min(i, 1), j, []string{"good", "bad"}[j%50/49])
		}
		a, err := c.Append(ctx, b.ID, "application/x-ndjson", bytes.NewReader(part.Bytes()), fmt.Sprint(min(i, 1)))
		if err != nil || a.Total != int64(100*min(i+1, 2)) {
			t.Fatalf("append %d: %+v, %v", i, a, err)
		}
	}
	want := int64(200)
	if b, err = c.Seal(ctx, b.ID, api.Seal{ExpectedItems: &want}); err != nil || b.State != api.Sealed {
		t.Fatalf("sealed: %+v, %v", b, err)
	}
	if f, err := c.Forecast(ctx, b.ID, api.ForecastRequest{}); err != nil || f.Items != want {
		t.Errorf("forecast: %+v, %v", f, err)
	}
	if p, err := c.Preview(ctx, b.ID, 2); err != nil || len(p.Items) != 2 {
		t.Errorf("preview: %+v, %v", p, err)
	}
	if _, err = c.Start(ctx, b.ID, api.Start{Reason: "now"}); err != nil {
		t.Fatal(err)
	}
	var last api.Progress
	for p, err := range c.Watch(ctx, b.ID) {
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	if last.State != api.Completed || last.Counts.Done != 196 || last.Counts.Failed != 4 {
		t.Errorf("watched to %+v", last)
	}
	afterwards(t, c, b.ID)
}

// afterwards asks for all that is known of a bulk action of which four items failed.
func afterwards(t *testing.T, c *client.Client, id string) {
	t.Helper()
	ctx := t.Context()
	if r, err := c.Report(ctx, id); err != nil || r.Outcome != "some_failed" {
		t.Errorf("report: %+v, %v", r, err)
	}
	if g, err := c.ErrorGroups(ctx, id); err != nil || len(g) != 1 || g[0].Count != 4 {
		t.Errorf("error groups: %+v, %v", g, err)
	}
	n := 0
	for it, err := range c.Items(ctx, id, client.ItemFilter{State: "done"}) {
		if err != nil || it.State != "done" {
			t.Fatalf("items: %+v, %v", it, err)
		}
		n++
	}
	if n != 196 {
		t.Errorf("%d items are done, over pages; want 196", n)
	}
	found, err := c.Lookup(ctx, api.Lookup{ID: "u1-49"})
	if err != nil || len(found.History) != 1 || found.History[0].Code != "is_bad" {
		t.Fatalf("lookup: %+v, %v", found, err)
	}
	if it, err := c.Item(ctx, found.History[0].Item); err != nil || it.ID != "u1-49" {
		t.Errorf("item: %+v, %v", it, err)
	}
	rows, err := c.Results(ctx, id, "failed", "ndjson")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for s := bufio.NewScanner(rows); s.Scan(); {
		lines++
	}
	if err := rows.Close(); err != nil || lines != 4 {
		t.Errorf("results have %d lines, %v; want 4", lines, err)
	}
	made, err := c.Retry(ctx, id, api.Again{Code: "is_bad"})
	if err != nil || made.Items != 4 || len(made.BulkActions) != 1 || made.BulkActions[0].RetryOf != id {
		t.Errorf("retry: %+v, %v", made, err)
	}
	for _, err := range c.Watch(ctx, made.BulkActions[0].ID) { // one that its owner has not read yet may be missing in lists
		if err != nil {
			t.Fatal(err)
		}
	}
	before, err := c.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range []client.Filter{{RetryOf: id}, {CreatedAfter: before.CreatedAt, CreatedBefore: before.CreatedAt.Add(time.Millisecond)}, {UndoOf: id},
		{CreatedBefore: before.CreatedAt}} {
		want := [][]string{{made.BulkActions[0].ID}, {id}, nil, nil}[i]
		var got []string
		for b, err := range c.List(ctx, f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v lists %v, want %v", f, got, want)
		}
	}
	listed := 0
	for _, err := range c.List(ctx, client.Filter{Name: "spring"}) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	if listed != 2 {
		t.Errorf("%d bulk actions are listed, want 2", listed)
	}
}

func TestAnUploadIsReadAsASource(t *testing.T) {
	c, ctx := real(t), t.Context()
	file := "id,is\n"
	for i := range 5000 {
		file += fmt.Sprintf("u%d,good\n", i)
	}
	id, err := c.Upload(ctx, client.Upload{Name: "users.csv", Size: int64(len(file)), Piece: 16 << 10}, strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if at, err := c.Uploaded(ctx, id); err != nil || at != int64(len(file)) {
		t.Fatalf("%d bytes have arrived, %v; want %d", at, err, len(file))
	}
	b, err := c.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}, Source: &api.Source{Upload: id}, Start: true})
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range c.Watch(ctx, b.ID) {
		if err != nil {
			t.Fatal(err)
		}
		b.State, b.Counts = p.State, p.Counts
	}
	if b.State != api.Completed || b.Counts.Done != 5000 {
		t.Errorf("ended as %s with %+v", b.State, b.Counts)
	}
	if id, err = c.Upload(ctx, client.Upload{Size: 2}, strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteUpload(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := c.Uploaded(ctx, id); !client.IsCode(err, "not_found") {
		t.Errorf("after it was given up: %v, want not_found", err)
	}
}

func TestTheSameCreateTwiceMakesOne(t *testing.T) {
	c := real(t)
	n := api.NewBulkAction{Steps: []api.Step{{Action: "picky"}}}
	a, err := c.Create(client.WithKey(t.Context(), "spring"), n)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Create(client.WithKey(t.Context(), "spring"), n); err != nil || b.ID != a.ID {
		t.Errorf("again: %s, %v; want %s", b.ID, err, a.ID)
	}
	n.Name = "other"
	if _, err := c.Create(client.WithKey(t.Context(), "spring"), n); !client.IsCode(err, "idempotency_conflict") {
		t.Errorf("of something else: %v, want idempotency_conflict", err)
	}
}

func TestOperatorsAndAccess(t *testing.T) {
	c, ctx := real(t), t.Context()
	rate := api.Rate(450)
	for name, do := range map[string]func() error{
		"action":   func() error { _, err := c.Actions().Put(ctx, "x", api.Action{URL: "http://127.0.0.1:1/x"}); return err },
		"resource": func() error { _, err := c.PutResource(ctx, "picky", api.Resource{Rate: &rate}); return err },
		"tenant": func() error {
			_, err := c.Tenants().Change(ctx, "growth", func(x *api.Tenant) error { x.Weight = 2; return nil })
			return err
		},
		"scaling": func() error {
			_, err := c.ChangeScaling(ctx, func(s *api.ScalingSettings) error { s.Max = 99; return nil })
			return err
		},
		"scale":      func() error { _, err := c.Scale(ctx); return err },
		"whoami":     func() error { _, err := c.WhoAmI(ctx); return err },
		"health":     func() error { _, err := c.Health(ctx); return err },
		"fairness":   func() error { _, err := c.Fairness(ctx, ""); return err },
		"dlq":        func() error { _, err := c.DLQGroups(ctx, api.DLQFilter{Code: "x"}, 10); return err },
		"lanes":      func() error { return drain(c.Lanes(ctx)) },
		"series":     func() error { _, err := c.Series(ctx, "day", "picky"); return err },
		"nodes":      func() error { return drain(c.Nodes(ctx)) },
		"partitions": func() error { return drain(c.Partitions(ctx)) },
		"partitioning": func() error {
			p, err := c.Partitioning(ctx)
			if err == nil {
				_, err = c.SetPartitions(ctx, p.Partitions+1, true)
			}
			return err
		},
		"actions":   func() error { return drain(c.Actions().List(ctx)) },
		"resources": func() error { return drain(c.Resources().List(ctx)) },
		"tenants":   func() error { return drain(c.Tenants().List(ctx)) },
		"schedules": func() error { return drain(c.Schedules().List(ctx)) },
		"webhooks":  func() error { return drain(c.Webhooks().List(ctx)) },
		"keys":      func() error { return drain(c.Keys().List(ctx)) },
		"audit":     func() error { return drain(c.Audit(ctx, client.AuditFilter{Action: "action."})) },
		"dlq items": func() error { return drain(c.DLQ(ctx, api.DLQFilter{})) },
		"exports": func() error {
			r, err := c.AuditExport(ctx, client.AuditFilter{}, "csv")
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, r)
			return errors.Join(err, r.Close())
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func drain[T any](all func(func(T, error) bool)) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
