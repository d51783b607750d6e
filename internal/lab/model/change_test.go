package model

import (
	"reflect"
	"strings"
	"testing"
)

func TestOneThingIsChangedAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		path, value string
		read        func(World) any
		want        any
	}{
		{"push.rate", "450/s", func(w World) any { return w.Resources[0].Rate }, Rate(450)},
		{"push.rate", "unlimited", func(w World) any { return w.Resources[0].Rate }, Rate(0)},
		{"push.concurrency", "20", func(w World) any { return w.Resources[0].Concurrency }, 20},
		{"push.latency", "40ms", func(w World) any { return [2]Span{w.Resources[0].Downstream.Latency, w.Resources[0].Downstream.P99} }, [2]Span{40 * ms, 100 * ms}},
		{"push.failures", "5%", func(w World) any { return w.Resources[0].Downstream.Failures }, Percent(0.05)},
		{"push.flow", "off", func(w World) any { return w.Resources[0].Flow }, "off"},
		{"push-news.arrivals", "9/s", func(w World) any { return w.BulkActions[0].Arrivals }, Rate(9)},
		{"push-news.items", "7", func(w World) any { return w.BulkActions[0].Items }, int64(7)},
		{"push-news.deadline", "30s", func(w World) any { return w.BulkActions[0].Deadline }, 30_000 * ms},
		{"push-news.tier", "low", func(w World) any { return w.BulkActions[0].Tier }, "low"},
		{"shop.weight", "2.5", func(w World) any { return w.Tenants }, []Tenant{{Name: "shop", Weight: 2.5}}},
	} {
		w := incident()
		w.BulkActions[0].Tenant = "shop"
		before := w.clone()
		got, err := w.With(tt.path, tt.value)
		if err != nil {
			t.Errorf("%s=%s: %v", tt.path, tt.value, err)
			continue
		}
		if v := tt.read(got); !reflect.DeepEqual(v, tt.want) {
			t.Errorf("%s=%s gives %v, want %v", tt.path, tt.value, v, tt.want)
		}
		if !reflect.DeepEqual(w, before) {
			t.Errorf("%s=%s changed the world that it was given", tt.path, tt.value)
		}
	}
}

func TestChangesThatCannotBeMadeSayWhy(t *testing.T) {
	for _, tt := range []struct{ path, value, want string }{
		{"rate", "1/s", "rate: does not name a field; write it as in send-message.rate=450/s"},
		{"push.", "1/s", "does not name a field"},
		{"psuh.rate", "1/s", `unknown resource, bulk action or tenant "psuh"; the resources are push, mail; the bulk actions are push-news, mail-news`},
		{"push.rte", "1/s", `push has no field "rte"; known: attempts, capacity, concurrency, failures`},
		{"push.rate", "1", "push.rate: rate \"1\": missing unit; write 1/s or 1/m"},
		{"push.concurrency", "many", `push.concurrency: "many" is not a whole number`},
		{"push-news.weight", "heavy", `"heavy" is not a number; the default is 1`},
	} {
		w := incident()
		w.BulkActions[0].Tenant = "push-news"
		if _, err := w.With(tt.path, tt.value); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v, want it to say %q", tt.path, tt.value, err, tt.want)
		}
	}
}

func TestLoadMultipliesTheWork(t *testing.T) {
	w := flood()
	got := w.Loaded(2)
	if got.BulkActions[0].Items != 2_000_000 || got.BulkActions[1].Arrivals != 8 || got.BulkActions[1].Items != 200 {
		t.Errorf("twice the load is %+v", got.BulkActions)
	}
	if w.BulkActions[0].Items != 1_000_000 {
		t.Error("the world that it was given has changed")
	}
}
