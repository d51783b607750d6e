package fleet

import (
	"testing"

	"github.com/weirhq/weir"
)

// Workers are counted as the leader gave them, in all places: a lane that has no work just now keeps its workers.
func TestWorkersOfTheSeriesAreThoseOfTheScale(t *testing.T) {
	lane := func(p int, resource string, workers int) weir.LanePlan {
		return weir.LanePlan{Lane: weir.LaneID{Partition: p, Resource: resource}, Workers: workers}
	}
	plan := weir.Plan{Workers: 12, Lanes: []weir.LanePlan{lane(0, "mail", 8), lane(1, "mail", 4), lane(0, "sms", -1)}}
	nodes := []weir.Node{{Lanes: []weir.Lane{{ID: weir.LaneID{Resource: "mail"}, Workers: 8, Ready: 3}}}}
	all, of := levelsOf(nodes, &plan)
	if all.Workers != 12 || of["mail"].Workers != 12 || of["sms"].Workers != 0 || all.Ready != 3 {
		t.Errorf("all %+v, mail %+v, sms %+v", all, of["mail"], of["sms"])
	}
}
