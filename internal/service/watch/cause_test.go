package watch

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
)

func TestTheReferenceListsEveryReason(t *testing.T) {
	field, _ := reflect.TypeFor[api.Cause]().FieldByName("Reason")
	words := regexp.MustCompile(`[a-z_]+`).FindAllString(field.Tag.Get("doc"), -1)
	for _, reason := range Reasons() {
		if !slices.Contains(words, reason) {
			t.Errorf("the reference of waiting_on lacks %q", reason)
		}
	}
	enum := strings.Split(field.Tag.Get("enum"), ",")
	all := Reasons()
	slices.Sort(enum)
	slices.Sort(all)
	if !slices.Equal(enum, all) {
		t.Errorf("the enum of waiting_on is %v, want %v", enum, all)
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, reason := range Reasons() {
		for _, resource := range []string{"", "fcm"} {
			if text := textOf(api.Cause{Reason: reason, Resource: resource}); text == "" || strings.Contains(text, "_") {
				t.Errorf("the words for %q, resource %q, are %q", reason, resource, text)
			}
		}
	}
}

func TestItsOwnRateIsNamedOnlyNearThatSpeed(t *testing.T) {
	tests := []struct {
		name            string
		rate            weir.Rate
		concurrency     int
		speed           float64
		ready, inFlight int64
		want            string
	}{
		{"half as fast as its rate", 100, 1, 53, 900, 1, "concurrency"},
		{"as fast as its rate", 100, 8, 98, 900, 2, "rate"},
		{"only a rate, with slow calls", 100, 0, 53, 900, 8, "rate"},
		{"only calls at once", 0, 1, 53, 900, 1, "concurrency"},
		{"just started", 5, 4, 0, 900, 1, "rate"},
		{"just started, with all calls that it may have", 5, 4, 0, 900, 4, "concurrency"},
		{"the last items", 100, 1, 53, 0, 1, ""},
		{"no limits of its own", 0, 0, 53, 900, 8, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := engine.Info{Rates: map[string]weir.Rate{"credit": tt.rate}, Concurrency: tt.concurrency}
			out := api.Progress{Rate: tt.speed, Counts: api.Counts{Ready: tt.ready, InFlight: tt.inFlight},
				Steps: []api.StepProgress{{Step: "credit", Pending: tt.ready + tt.inFlight}}}
			if got := ownLimit(&info, &out); got != tt.want {
				t.Errorf("it waits for %q, want %q", got, tt.want)
			}
		})
	}
}
