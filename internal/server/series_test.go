package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/pebblestore"
)

// oddFails answers that every item with an odd number failed.
func oddFails(_ *http.Request, body []byte) (int, string) {
	var in struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return 400, err.Error()
	}
	type result struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	var out struct {
		Results []result `json:"results"`
	}
	for _, x := range in.Items {
		status := "done"
		if n, err := strconv.Atoi(strings.TrimPrefix(x.ID, "u")); err != nil || n%2 == 1 {
			status = "failed"
		}
		out.Results = append(out.Results, result{x.ID, status})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return 500, err.Error()
	}
	return 200, string(text)
}

// is reports whether a value is known and is this one.
func is(v *float64, want float64) bool { return v != nil && *v == want }

// seriesOf reads a time series.
func seriesOf(n *nodetest.Node, query string) (s api.Series) {
	n.Call("GET", "/v1/series"+query, "", 200, &s)
	return s
}

func TestASeriesHasWhatHappened(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{SeriesEvery: 200 * time.Millisecond})
	gate := make(chan struct{})
	wait := held(gate)
	url := downstream(t, func(r *http.Request, body []byte) (int, string) { wait(r, body); return oddFails(r, body) })
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"rate":"400/s","concurrency":3}`, 200, nil)
	b := n.Make(`{"tenant":"acme","steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(400))
	n.Eventually("calls in flight are in the series, beside their limits", func() bool {
		s := seriesOf(n, "?resource=push")
		for i := range s.Points {
			if is(s.InFlight[i], 3) && is(s.AllowedRate[i], 400) && is(s.AllowedInFlight[i], 3) && s.Workers[i] != nil && !is(s.Ready[i], 0) {
				return true
			}
		}
		return false
	})
	close(gate)
	n.Until(b.ID, api.Completed)
	for _, query := range []string{"", "?resource=push", "?span=hour&resource=push"} {
		var s api.Series
		n.Eventually("all items are in the series"+query, func() bool {
			s = seriesOf(n, query)
			return s.Done.Sum() == 200 && s.Failed.Sum() == 200 && s.Calls.Sum() >= 80
		})
		if s.Points != 360 || len(s.Done) != 360 || len(s.OldestReady) != 360 || !s.At(360).Equal(s.End) {
			t.Errorf("%s: %d points, %d values, %v to %v", query, s.Points, len(s.Done), s.Start, s.End)
		}
		if s.Done[0] != nil {
			t.Errorf("%s: before the node started, %v were done; want it unknown", query, *s.Done[0])
		}
	}
	n.Call("PUT", "/v1/actions/idle", fmt.Sprintf(`{"url":%q}`, url), 200, nil)
	if s := seriesOf(n, "?resource=idle"); s.Done.Sum() != 0 || s.Points != 360 {
		t.Errorf("an action that was not used: %+v", s)
	}
	var p api.Problem
	n.Call("GET", "/v1/series?resource=pusch", "", 422, &p)
	if len(p.Errors) != 1 || p.Errors[0].Field != "resource" || !strings.Contains(p.Errors[0].Fix, "did you mean push?") {
		t.Errorf("an unknown resource: %+v", p)
	}
	n.Call("GET", "/v1/series?span=week", "", 400, &p)
	if len(p.Errors) != 1 || !strings.HasSuffix(p.Errors[0].Field, "span") || !strings.Contains(fmt.Sprint(p.Errors[0]), "day") {
		t.Errorf("an unknown span: %+v", p)
	}

	acme, bolt := n.As([]access.Scope{access.Read}, "acme"), n.As([]access.Scope{access.Read}, "bolt")
	acme.Call("GET", "/v1/series", "", 403, nil)
	bolt.Call("GET", "/v1/bulk-actions/"+b.ID+"/series", "", 404, nil)
	var own api.BulkSeries
	acme.Call("GET", "/v1/bulk-actions/"+b.ID+"/series", "", 200, &own)
	if own.Done.Sum() != 200 || own.Failed.Sum() != 200 || own.Points < 2 {
		t.Errorf("the series of the bulk action: %+v", own)
	}
}

// dying is a store that takes no more time series from some moment on: as if the node had been killed then.
type dying struct {
	store.Store
	dead atomic.Bool
}

func (s *dying) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if s.dead.Load() && (strings.HasPrefix(name, "series/") || strings.HasPrefix(name, "bulk_series/")) {
		return nil, store.ErrUnavailable
	}
	return s.Store.Swap(ctx, name, old, value)
}

func TestASeriesSurvivesARestart(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) { restart(t, kill) })
	}
}

func restart(t *testing.T, kill bool) {
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	open := func() (*nodetest.Node, *dying) {
		p, err := pebblestore.Open(dir, pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &dying{Store: p}
		return nodetest.Start(t, nodetest.Options{Store: s, Vault: v, SeriesEvery: 200 * time.Millisecond}), s
	}
	n, s := open()
	url := downstream(t, oddFails)
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"rate":"100/s"}`, 200, nil)
	b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(300))
	n.Eventually("some items are in the series", func() bool { return seriesOf(n, "").Done.Sum() > 20 })
	s.dead.Store(kill)
	before := seriesOf(n, "").Done.Sum()
	n.Stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	n, s = open()
	defer func() { n.Stop(); _ = s.Close() }()
	if got := seriesOf(n, "").Done.Sum(); got < before {
		t.Errorf("after the restart %v are done, before it were %v", got, before)
	}
	n.Until(b.ID, api.Completed)
	least := 150.0
	if kill { // what was counted and not written is lost, here of some seconds
		least = before + 1
	}
	n.Eventually("the items since are in the series", func() bool {
		s := seriesOf(n, "?resource=push")
		return s.Done.Sum() >= least && s.Failed.Sum() >= least && s.Done.Sum() <= 150
	})
	var own api.BulkSeries
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/series", "", 200, &own)
	if own.Done.Sum() != 150 || own.Failed.Sum() != 150 || own.Points < 5 || own.Points > 500 {
		t.Errorf("the series of the bulk action: %d points, %v done, %v failed", own.Points, own.Done.Sum(), own.Failed.Sum())
	}
}

func TestABulkActionThatWasNotStartedHasNoPoints(t *testing.T) {
	m := memstore.New(memstore.Options{})
	defer func() { _ = m.Close() }()
	n := nodetest.Start(t, nodetest.Options{Store: m})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q}`, downstream(t, oddFails)), 200, nil)
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"push"}],"item_id":"id"}`, 201, &b)
	for _, seal := range []bool{false, true} {
		if seal {
			n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", rowsOf(3), http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{}`, 200, &b)
		}
		resp := n.Request(t.Context(), "GET", "/v1/bulk-actions/"+b.ID+"/series", "", nil)
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(raw), `"points":0`) || !strings.Contains(string(raw), `"done":[]`) {
			t.Errorf("sealed %v: %d %s %v", seal, resp.StatusCode, raw, err)
		}
	}
}
