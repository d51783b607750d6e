package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

func TestAnUncertainEndIsARange(t *testing.T) {
	at := time.Date(2026, 11, 15, 15, 10, 0, 0, time.UTC)
	c := format.Clock{Zone: time.UTC, Now: at.Add(-time.Hour)}
	p := api.Progress{LikelyEnd: at}
	if got := ending(c, &p); got != "15:10" {
		t.Errorf("a certain end is %q, want 15:10", got)
	}
	p.LikelyEndFrom, p.LikelyEndTo = at.Add(-3*time.Minute), at.Add(4*time.Minute)
	if got := ending(c, &p); got != "15:07–15:14" {
		t.Errorf("an uncertain end is %q, want 15:07–15:14", got)
	}
}

func TestASourceIsReadWhenItStartsOnlyUntilItWasRead(t *testing.T) {
	file := &api.Source{Upload: "upl_1"}
	for want, b := range map[string]api.BulkAction{
		"An uploaded file, read when it starts": {State: api.Scheduled, Source: file},
		"An uploaded file, being read":          {State: api.Importing, Source: file},
		"An uploaded file, read: 12\u00a0items": {State: api.Completed, Source: file, Counts: api.Counts{Total: 12}, StartedAt: time.Now()},
		"The topic users, read when it starts":  {State: api.Draft, Source: &api.Source{Kafka: &api.KafkaSource{Topic: "users"}}},
	} {
		if got := sourceInWords(&b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSharingWithBulkActionsOfTheSameTenantCountsNoOtherTenants(t *testing.T) {
	for tenants, want := range map[int]string{
		0: "Shares credit with other bulk actions of your own, ", 1: "Shares credit with 1\u00a0other tenant, ",
	} {
		if got := clashText([]api.Clash{{Resource: "credit", Tenants: tenants, Backlog: 9, Share: 0.5}}); !strings.HasPrefix(strings.ReplaceAll(got, "1 other", "1\u00a0other"), want) {
			t.Errorf("with %d other tenants: %q, want %q", tenants, got, want)
		}
	}
}

func TestTooFewWorkersHaveARemedy(t *testing.T) {
	p := forecastPage{wizard: &wizard{}, Forecast: &api.Forecast{Bottleneck: &api.Bottleneck{Kind: "workers", Resource: "credit", Value: "8 workers"}}}
	want := "The number of workers, 8, is the bottleneck. An operator could allow more workers, or add a node."
	if got := p.Limit(); got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
}
