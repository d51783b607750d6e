package coord

import (
	"testing"

	"github.com/weirhq/weir"
)

func TestChangesOfAResourceAreTold(t *testing.T) {
	c := New()
	now := int64(1)
	look := func(u weir.ResourceUse) int {
		u.Name = "a"
		now += second
		return len(c.Changes(now, []weir.Node{{Name: "n", Resources: []weir.ResourceUse{u}}}))
	}
	for i, tt := range []struct {
		is   weir.ResourceUse
		want int
	}{
		{weir.ResourceUse{Circuit: "closed"}, 0},                             // nothing is known, and all is well
		{weir.ResourceUse{Circuit: "closed", Limited: true, Allowed: 10}, 1}, // held down
		{weir.ResourceUse{Circuit: "closed", Limited: true, Allowed: 12}, 0}, // still
		{weir.ResourceUse{Circuit: "open", Limited: true, Text: "down"}, 1},  // worse
		{weir.ResourceUse{Circuit: "half-open", Limited: true}, 1},           // trying
		{weir.ResourceUse{Circuit: "closed", Bearable: 3}, 1},                // better, and bounded otherwise
		{weir.ResourceUse{Circuit: "closed"}, 1},                             // well
		{weir.ResourceUse{Circuit: "closed"}, 0},
	} {
		if got := look(tt.is); got != tt.want {
			t.Errorf("look %d: %d changes, want %d", i, got, tt.want)
		}
	}
	other := []weir.Node{{Name: "other", Resources: []weir.ResourceUse{{Name: "a", Circuit: "open"}}}}
	if got := c.Changes(now, other); len(got) != 1 || got[0].Node != "other" || got[0].Text == "" {
		t.Errorf("a node whose circuit is open when it is first seen: %+v", got)
	}
	c.Changes(now+2*forgetAfter, nil)
	if len(c.held) != 0 {
		t.Errorf("%d nodes that are gone are remembered", len(c.held))
	}
}
