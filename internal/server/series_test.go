package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
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

// seriesOf reads a time series.
func seriesOf(n *nodetest.Node, query string) (s api.Series) {
	n.Call("GET", "/v1/series"+query, "", 200, &s)
	return s
}

func TestASeriesHasWhatHappened(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{SeriesEvery: 200 * time.Millisecond})
	url := downstream(t, oddFails)
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"rate":"400/s","concurrency":3}`, 200, nil)
	b := n.Make(`{"tenant":"acme","steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(400))
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
	s := seriesOf(n, "?resource=push")
	limited, flying := 0, 0.0
	for i := range s.Points {
		if v := s.AllowedRate[i]; v != nil && *v == 400 && s.AllowedInFlight[i] != nil && *s.AllowedInFlight[i] == 3 {
			limited++
		}
		if v := s.InFlight[i]; v != nil {
			flying = max(flying, *v)
		}
	}
	if limited == 0 || flying == 0 || flying > 3 {
		t.Errorf("%d steps have the limits, at most %v calls were in flight", limited, flying)
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
	n.Call("GET", "/v1/series?span=week", "", 422, &p)
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

func TestASeriesSurvivesARestart(t *testing.T) {
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	open := func() (*nodetest.Node, store.Store) {
		s, err := pebblestore.Open(dir, pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return nodetest.Start(t, nodetest.Options{Store: s, Vault: v, SeriesEvery: 200 * time.Millisecond}), s
	}
	n, s := open()
	url := downstream(t, oddFails)
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"rate":"100/s"}`, 200, nil)
	b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(300))
	n.Eventually("some items are in the series", func() bool { return seriesOf(n, "").Done.Sum() > 20 })
	before := seriesOf(n, "")
	n.Stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	n, s = open()
	defer func() { n.Stop(); _ = s.Close() }()
	if got := seriesOf(n, "").Done.Sum(); got < before.Done.Sum() {
		t.Errorf("after the restart %v are done, before it were %v", got, before.Done.Sum())
	}
	n.Until(b.ID, api.Completed)
	n.Eventually("all items are in the series", func() bool {
		s := seriesOf(n, "?resource=push")
		return s.Done.Sum() == 150 && s.Failed.Sum() == 150
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
