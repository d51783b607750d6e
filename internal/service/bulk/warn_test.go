package bulk

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestRulesThatAreProbablyNotMeantAreWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		state  api.State
		items  int64
		rate   api.Rate
		canary float64
		want   []string
	}{
		{"a rate at which it takes a week", api.Draft, 600, 0.001, 0, []string{"Rate of send, 0.001/s: 600 items at 1 per 1,000 s take 6 days 22 h."}},
		{"many items", api.Sealed, 1_000_000, 5, 0, []string{"Rate of send, 5/s: 1,000,000 items at 5 per second take 2 days 7 h."}},
		{"it takes some hours", api.Draft, 60, 0.001, 0, nil},
		{"not known how many", api.Draft, 0, 0.001, 0, []string{"Rate of send, 0.001/s: 1,000 items at 1 per 1,000 s would take 11 days 13 h."}},
		{"not known how many at a usual rate", api.Draft, 0, 5, 0, nil},
		{"the least rate there is", api.Draft, 600, 5e-324, 0, []string{"Rate of send, " + api.Rate(5e-324).String() +
			": 600 items at 1 per 9,223,372,036,854,775,807 s take 292 years 171 days."}},
		{"a canary of less than an item", api.Sealed, 600, 0, 0.0001, []string{"Canary of 0.0001 %: less than 1 of 600 items. It has 1, the least, which says little about the rest."}},
		{"a canary of some items", api.Sealed, 600, 0, 1, nil},
		{"a tiny canary of an unknown number", api.Draft, 0, 0, 0.0001, []string{"Canary of 0.0001 %: 1 of 1,000,000 items."}},
		{"it has ended", api.Completed, 600, 0.001, 0.0001, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := api.BulkAction{State: tt.state, Steps: []api.Step{{ID: "send", Action: "mail"}}, Counts: api.Counts{Total: tt.items, Ready: tt.items}}
			if tt.rate > 0 {
				b.Rates = map[string]api.Rate{"send": tt.rate}
			}
			if tt.canary > 0 {
				b.Canary = &api.Canary{Percent: tt.canary}
			}
			if got := Warnings(&b); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
