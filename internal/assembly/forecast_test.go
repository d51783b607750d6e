package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// limited is an action with a resource of so many items a second.
func limited(name string, rate float64) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, Resource: weir.Resource{Name: name, Rate: weir.PerSecond(rate)},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				b.Done(i, nil)
			}
			return nil
		},
	})
}

// many makes a bulk action of so many items, with more in its request.
func many(r *nodetest.Node, items int, more string) (b api.BulkAction) {
	var list strings.Builder
	for i := range items {
		fmt.Fprintf(&list, `,{"id":"%d"}`, i)
	}
	r.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"id":"send","action":"mail"}],"items":[%s],%s}`, list.String()[1:], more), 201, &b)
	return b
}

func TestAForecastKeepsToTheRatesOfBulkActions(t *testing.T) {
	r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("mail", 100)}})
	takes := func(b api.BulkAction) (time.Duration, api.Forecast) {
		t.Helper()
		var f api.Forecast
		r.Call("POST", "/v1/bulk-actions/"+b.ID+"/forecast", `{}`, 200, &f)
		return time.Duration(f.Takes.P50), f
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s it is forecast to take %v, want about %v", what, got, want)
		}
	}
	free := many(r, 3000, `"tenant":"a"`)
	paced := many(r, 3000, `"tenant":"a","rates":{"send":"10/s"}`)
	got, _ := takes(free)
	near("without a rate of its own", got, 30*time.Second)
	got, f := takes(paced)
	near("at 10/s", got, 300*time.Second)
	if f.Bottleneck == nil || *f.Bottleneck != (api.Bottleneck{Kind: "rate", Resource: "mail", Value: "10/s", Of: "bulk_action"}) {
		t.Errorf("its bottleneck is %+v, want its own rate", f.Bottleneck)
	}

	other := many(r, 5000, `"tenant":"b","rates":{"send":"1/s"},"start":true`)
	r.Until(other.ID, api.Running)
	r.Eventually("a clash with what runs", func() bool { // its partition may not have read of it yet
		got, f = takes(free)
		return len(f.Clashes) == 1
	})
	near("beside one that keeps to 1/s", got, 30*time.Second)
	r.Call("PATCH", "/v1/bulk-actions/"+other.ID, `{"rates":{"send":"99/s"}}`, 200, nil)
	if got, _ = takes(free); got < 40*time.Second {
		t.Errorf("beside one that takes its share it is forecast to take %v, want much more than 30s", got)
	}
}

func TestTheFirstForecastKnowsTheLimitsOfAnUnusedResource(t *testing.T) {
	endpoint := []api.Action{{Name: "mail", URL: "http://127.0.0.1:1/"}}
	program := []weir.Step{limited("mail", 0)}
	put := func(r *nodetest.Node) { r.Call("PUT", "/v1/resources/mail", `{"rate":"10/s"}`, 200, nil) }
	for _, tt := range []struct {
		name string
		o    nodetest.Options
		set  func(*nodetest.Node)
	}{
		{"set by the file", nodetest.Options{Actions: endpoint, File: &assembly.File{Resources: []weir.Resource{{Name: "mail", Rate: weir.PerSecond(10)}}}}, func(*nodetest.Node) {}},
		{"set over the API", nodetest.Options{Actions: endpoint}, put},
		{"set over the API, for an action of the program", nodetest.Options{Steps: program}, put},
		{"lowered over the API", nodetest.Options{Steps: []weir.Step{limited("mail", 500)}}, put},
		{"set over the API before the action is made", nodetest.Options{}, func(r *nodetest.Node) {
			put(r)
			r.Call("PUT", "/v1/actions/mail", `{"url":"http://127.0.0.1:1/"}`, 200, nil)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := nodetest.Start(t, tt.o)
			tt.set(r)
			b := many(r, 3000, `"tenant":"a"`)
			var f api.Forecast
			r.Call("POST", "/v1/bulk-actions/"+b.ID+"/forecast", `{}`, 200, &f)
			if f.Bottleneck == nil || *f.Bottleneck != (api.Bottleneck{Kind: "rate", Resource: "mail", Value: "10/s"}) {
				t.Errorf("the bottleneck is %+v, want 10/s of mail", f.Bottleneck)
			}
			if took := time.Duration(f.Takes.P50); took < 270*time.Second || took > 330*time.Second {
				t.Errorf("it is forecast to take %v, want about 5m", took)
			}
		})
	}
}

func TestAReportSaysHowGoodTheForecastWas(t *testing.T) {
	r := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("mail", 1000)}})
	report := func(b api.BulkAction) (out api.Report) {
		t.Helper()
		r.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 200, nil)
		r.Until(b.ID, api.Completed)
		r.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &out)
		return out
	}
	asked, not := many(r, 200, `"tenant":"a"`), many(r, 10, `"tenant":"a"`)
	var f api.Forecast
	r.Call("POST", "/v1/bulk-actions/"+asked.ID+"/forecast", `{}`, 200, &f)
	r.Call("POST", "/v1/bulk-actions/"+asked.ID+"/forecast", `{"rates":{"mail":"1/s"}}`, 200, nil) // what if: not what was forecast
	got := report(asked)
	actual := float64(got.FinishedAt.Sub(got.StartedAt)) / float64(f.Takes.P50)
	if a := got.Forecast; a == nil || a.P50 != f.Takes.P50 || a.P90 != f.Takes.P90 || a.Error < actual-1.01 || a.Error > actual-0.99 {
		t.Errorf("the report says %+v of the forecast %+v, and it took %.2f times as long", a, f.Takes, actual)
	}
	if got := report(not).Forecast; got != nil {
		t.Errorf("the report has %+v without a forecast", got)
	}
}
