package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

func ptr[T any](v T) *T { return &v }

func TestLimitsOfATenantComeFromTheAPIElseFromTheFile(t *testing.T) {
	at := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	l := weir.Limits{
		Tenants: map[string]weir.TenantLimits{"both": {Weight: 3, Set: weir.Stamp{By: "key_1", At: at}}, "api": {MaxTasks: 5}},
		File:    weir.FileLimits{Tenants: map[string]weir.TenantLimits{"both": {Weight: 2}, "file": {Paused: true}}},
	}
	for _, tt := range []struct {
		name, origin string
		weight       float64
		file         bool
	}{
		{"both", "api", 3, true}, {"api", "api", 1, false}, {"file", "file", 1, false}, {"neither", "default", 1, false},
	} {
		got := tenantIn(&l, tt.name)
		if got.Name != tt.name || got.Origin != tt.origin || got.Weight != tt.weight || (got.File != nil) != tt.file {
			t.Errorf("tenantIn(%q) = %+v, want origin %s and weight %v", tt.name, got, tt.origin, tt.weight)
		}
	}
	if got := tenantIn(&l, "both"); got.ChangedBy != "key_1" || !got.ChangedAt.Equal(at) || got.File.Weight != 2 {
		t.Errorf("both = %+v with file %+v", got, got.File)
	}
}

func TestLimitsOfAResourceAreLaidOverThoseOfTheActions(t *testing.T) {
	used := map[string]weir.Resource{"mail": {Name: "mail", Rate: 10, Concurrency: 4}}
	for _, tt := range []struct {
		name        string
		limits      weir.Limits
		rate        api.Rate
		concurrency int
		origin      string
		file        bool
	}{
		{"the actions'", weir.Limits{}, 10, 4, "program", false},
		{"the file's rate", weir.Limits{File: weir.FileLimits{Resources: map[string]weir.ResourceLimits{"mail": {Rate: ptr(weir.Rate(20))}}}}, 20, 4, "file", false},
		{"the API's over the file's", weir.Limits{
			Resources: map[string]weir.ResourceLimits{"mail": {Concurrency: ptr(9)}},
			File:      weir.FileLimits{Resources: map[string]weir.ResourceLimits{"mail": {Rate: ptr(weir.Rate(20))}}},
		}, 20, 9, "api", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newStatus("mail")
			unset(r, used)
			setOver(r, &tt.limits)
			if r.Rate != tt.rate || r.Concurrency != tt.concurrency || r.Origin != tt.origin || (r.File != nil) != tt.file || r.Pacing != "smooth" {
				t.Errorf("resource = %+v, want rate %v, concurrency %d from %s", r, tt.rate, tt.concurrency, tt.origin)
			}
		})
	}
}

func TestTheWorstCircuitOfAllNodesIsShown(t *testing.T) {
	all := map[string]*api.ResourceStatus{}
	for _, n := range []weir.Node{
		{Resources: []weir.ResourceUse{{Name: "mail", Circuit: "half-open", InFlight: 2, Text: "trying"}}},
		{Resources: []weir.ResourceUse{{Name: "mail", Circuit: "open", InFlight: 1, Text: "it fails"}}},
		{Resources: []weir.ResourceUse{{Name: "mail", Circuit: "closed", InFlight: 4}}},
	} {
		addUse(all, &n)
	}
	if r := all["mail"]; r.Circuit != "open" || r.Reason != "it fails" || r.InFlight != 7 {
		t.Errorf("mail = %+v, want open with 7 in flight", r)
	}
}

func TestLanesAreThoseWithWorkAPlanOrAPin(t *testing.T) {
	id := func(p int, r string) weir.LaneID { return weir.LaneID{Partition: p, Resource: r} }
	lanes := lanesOf([]weir.Node{{Name: "n1", Lanes: []weir.Lane{{ID: id(10, "mail"), Workers: 3, Ready: 7}}}},
		&weir.Plan{Lanes: []weir.LanePlan{{Lane: id(2, "mail"), Workers: 5}, {Lane: id(10, "mail"), Workers: 8}}},
		map[weir.LaneID]weir.Pin{id(2, "award"): {Workers: 1, Why: "test"}}, nil)
	if len(lanes) != 3 || lanes[0].Lane != "award" || lanes[1].Partition != "p02" || lanes[2].Partition != "p10" {
		t.Fatalf("lanes = %+v, want award and mail of p02, then mail of p10", lanes)
	}
	if lanes[2].Workers != 3 || lanes[2].Ready != 7 || lanes[1].Workers != 5 || lanes[0].Pin == nil {
		t.Errorf("lanes = %+v; a node knows better than the plan how many workers there are", lanes)
	}
}

func TestNamesOfLanes(t *testing.T) {
	if id, err := LaneID("p03", "send-message"); err != nil || id.Partition != 3 || id.Resource != "send-message" {
		t.Errorf("LaneID = %v, %v", id, err)
	}
	for _, bad := range [][2]string{{"p", "a"}, {"px", "a"}, {"p1", ""}, {"p1", "a b"}, {"p-1", "a"}} {
		if id, err := LaneID(bad[0], bad[1]); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("LaneID(%q) = %v, %v; want not found", bad, id, err)
		}
	}
}
