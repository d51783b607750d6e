package model

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestMistakesNameTheFieldAndTheFix(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*World)
		want   string // in one line
	}{
		{"no resource", func(w *World) { w.Resources = nil }, "resources: 0 is not between 1 and 64; add one"},
		{"no bulk action", func(w *World) { w.BulkActions = nil }, "bulk_actions: is empty; add one"},
		{"an unknown step", func(w *World) { w.BulkActions[0].Steps = []string{"sned"} }, `bulk_actions.bulk.steps: unknown resource "sned"; known: api`},
		{"a deadline after more than a day", func(w *World) { w.BulkActions[0].Deadline = 25 * 3600 * 1000 * ms }, "bulk_actions.bulk.deadline: 25h0m0s is not between 0s and 24h"},
		{"no latency", func(w *World) { w.Resources[0].Downstream.Latency = 0 }, "resources.api.downstream.latency: is missing; write how long a call takes"},
		{"a p99 below the mean", func(w *World) { w.Resources[0].Downstream.P99 = 10 * ms }, "resources.api.downstream.p99: 10ms is not between the mean 50ms and ten times that"},
		{"a p99 far above the mean", func(w *World) { w.Resources[0].Downstream.P99 = 900 * ms }, "ten times that; change it, or the latency"},
		{"an incident without an end", func(w *World) { w.Resources[0].Downstream.Incidents = []Incident{{}} }, "resources.api.downstream.incidents[0].for: is missing; write how long it lasts"},
		{"a share above one", func(w *World) { w.Resources[0].Downstream.Failures = 2 }, "resources.api.downstream.failures: 2 is not between 0% and 100%"},
		{"an unknown policy", func(w *World) { w.Workers.Policy = "magic" }, `workers.policy: "magic" is unknown; write one of littles-law`},
		{"more workers at first than at most", func(w *World) { w.Workers = Workers{Start: 9, Max: 8, Min: 1} }, "workers.start: 9 is not between 1 and 8, the bounds"},
		{"an unknown flow control", func(w *World) { w.Resources[0].Flow = "maybe" }, `resources.api.flow: "maybe" is unknown; write one of on, off, aimd`},
		{"an unknown tier", func(w *World) { w.BulkActions[0].Tier = "urgent" }, `bulk_actions.bulk.tier: "urgent" is unknown; write one of critical`},
		{"no items", func(w *World) { w.BulkActions[0].Items = 0 }, "bulk_actions.bulk.items: 0 is not between 1 and"},
		{"a stream without an end", func(w *World) { w.BulkActions[0].Arrivals = 1 }, "bulk_actions.bulk.until: 0s is not after 0s and at most 24h; write when the stream ends"},
		{"a stream that fills memory", func(w *World) { w.BulkActions[0].Arrivals, w.Length = 1e6, Span(time.Hour) }, "bulk_actions.bulk.arrivals: creates about 3600000000 bulk actions; lower it"},
		{"a tenant without work", func(w *World) { w.Tenants = []Tenant{{Name: "nobody", Weight: 1}} }, "tenants.nobody: has no bulk action; set the tenant of one to this name"},
		{"a weight of nothing", func(w *World) { w.Tenants = []Tenant{{Name: "bulk", Weight: 0}} }, "tenants.bulk.weight: 0 is not between 0.01 and 1000"},
		{"two of one name", func(w *World) { w.Resources = append(w.Resources, w.Resources[0]) }, `resources[1].name: "api" is used twice; give one of them another name`},
		{"a name that --set could not say", func(w *World) { w.BulkActions[0].Name = "a.b" }, "contains a dot, an equals sign or a space; write it with dashes"},
		{"a node without slots", func(w *World) { w.Nodes = []Node{{}} }, "nodes[0].slots: 0 is not between 1 and"},
		{"more than a day", func(w *World) { w.Length = Span(25 * time.Hour) }, "length: 25h0m0s is not between 0s and 24h"},
		{"a call of days", func(w *World) { w.Resources[0].Downstream.Latency = Span(1000 * time.Hour) }, "resources.api.downstream.latency: 1000h0m0s is not between 0s and 24h"},
		{"a priority beyond all", func(w *World) { w.BulkActions[0].Priority = 1 << 30 }, "bulk_actions.bulk.priority: 1073741824 is not between -1000 and 1000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := simple(1000, Resource{})
			tt.change(&w)
			err := w.Validate()
			var in *weir.InputError
			if !errors.As(err, &in) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate() = %v, want it to say %q", err, tt.want)
			}
			if _, ran := Run(w); ran == nil {
				t.Error("Run took it all the same")
			}
		})
	}
}

func TestValuesAreReadAsTheyAreWritten(t *testing.T) {
	for _, tt := range []struct {
		to   interface{ UnmarshalText([]byte) error }
		text string
		want any // a value, or what the error says
	}{
		{new(Span), "1h30m", Span(90 * time.Minute)},
		{new(Span), "0", Span(0)},
		{new(Span), "5", "5 has no unit; write 5s"},
		{new(Span), "soon", "is not a duration; write it as in"},
		{new(Span), "-1s", "is negative"},
		{new(Rate), "450/s", Rate(450)},
		{new(Rate), "30/m", Rate(0.5)},
		{new(Rate), "unlimited", Rate(0)},
		{new(Rate), "450", "rate \"450\": missing unit; write 450/s or 450/m"},
		{new(Rate), "much/s", "want a number above 0"},
		{new(Percent), "60%", Percent(0.6)},
		{new(Percent), "0", Percent(0)},
		{new(Percent), "0.6", "0.6 has no unit; write 0.6%"},
		{new(Percent), "half", "is not a percentage; write it as in 5%"},
		{new(Percent), "120%", "not between 0% and 100%"},
		{new(Percent), "NaN%", "not between 0% and 100%"},
	} {
		err := tt.to.UnmarshalText([]byte(tt.text))
		if say, bad := tt.want.(string); bad {
			if err == nil || !strings.Contains(err.Error(), say) {
				t.Errorf("%q: error %v, want it to say %q", tt.text, err, say)
			}
			continue
		}
		if got := reflect.ValueOf(tt.to).Elem().Interface(); err != nil || got != tt.want {
			t.Errorf("%q is read as %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestWorldsSurviveBeingWritten(t *testing.T) {
	for _, w := range append(Worlds(), anyWorld(1), anyWorld(2)) {
		raw, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var back World
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%s: %v in %s", w.Name, err, raw)
		}
		if !reflect.DeepEqual(w, back) {
			t.Errorf("%s is\n%+v after it was written and read, want\n%+v", w.Name, back, w)
		}
	}
}
