package bulk

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

func ptr[T any](v T) *T { return &v }

func TestAChangeOfTheStopRuleKeepsWhatItDoesNotName(t *testing.T) {
	now := weir.StopRule{FailureRate: 0.5, MinItems: 100, Cancel: true}
	for _, tt := range []struct {
		name   string
		change api.StopOnChange
		want   weir.StopRule
	}{
		{"one member", api.StopOnChange{FailureRate: ptr(0.1)}, weir.StopRule{FailureRate: 0.1, MinItems: 100, Cancel: true}},
		{"zero is a value", api.StopOnChange{MinItems: ptr(int64(0)), Cancel: ptr(false)}, weir.StopRule{FailureRate: 0.5}},
		{"nothing named removes the rule", api.StopOnChange{}, weir.StopRule{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rulesOf(&api.Change{StopOn: &tt.change}, now)
			if err != nil || *got.StopOn != tt.want {
				t.Errorf("rulesOf = %+v, %v; want %+v", got.StopOn, err, tt.want)
			}
		})
	}
	if got, err := rulesOf(&api.Change{}, now); err != nil || got.StopOn != nil || got.Tier != nil || got.Rates != nil {
		t.Errorf("rulesOf of nothing = %+v, %v; want nothing to change", got, err)
	}
	if _, err := rulesOf(&api.Change{Tier: ptr("urgent")}, now); err == nil {
		t.Error("an unknown tier is accepted")
	}
}

func TestTheVersionOfTheRulesChangesWithThemAlone(t *testing.T) {
	b := api.BulkAction{ID: "ba_1", Rules: api.Rules{Priority: 3}}
	base := RulesVersion(&b)
	for name, change := range map[string]func(*api.BulkAction){
		"priority":    func(b *api.BulkAction) { b.Priority = 4 },
		"tier":        func(b *api.BulkAction) { b.Tier = "high" },
		"concurrency": func(b *api.BulkAction) { b.Concurrency = 1 },
		"rates":       func(b *api.BulkAction) { b.Rates = map[string]api.Rate{"a": 1} },
		"stop_on":     func(b *api.BulkAction) { b.StopOn = &api.StopOn{MaxFailures: 1} },
	} {
		other := b
		change(&other)
		if RulesVersion(&other) == base {
			t.Errorf("another %s has the same version", name)
		}
	}
	b.State, b.Counts.Done, b.Tier = api.Paused, 7, weir.TierDefault.String()
	if RulesVersion(&b) != base {
		t.Error("the version changes with state and counts, or if the default tier is named")
	}
}

func TestFiltersAreAllMet(t *testing.T) {
	b := api.BulkAction{Name: "spring mails", Tenant: "growth", State: api.Running, Labels: map[string]string{"team": "a"}, Template: &api.MadeFrom{Name: "mails"}}
	for _, tt := range []struct {
		name string
		f    Filter
		want bool
	}{
		{"none", Filter{}, true},
		{"all", Filter{States: []api.State{api.Paused, api.Running}, Name: "spring", Label: "team=a", Tenant: "growth", Template: "mails"}, true},
		{"another state", Filter{States: []api.State{api.Paused, api.Completed}}, false},
		{"another label", Filter{Label: "team=b"}, false},
		{"a label with any value", Filter{Label: "team"}, true},
		{"a label that it does not have", Filter{Label: "region"}, false},
		{"a label without a value that it does not have", Filter{Label: "region="}, false},
		{"another template", Filter{Template: "other"}, false},
		{"a tenant that the caller does not see", Filter{Sees: func(string) bool { return false }}, false},
	} {
		if got := tt.f.match(&b); got != tt.want {
			t.Errorf("%s: match = %v, want %v", tt.name, got, tt.want)
		}
	}
}
