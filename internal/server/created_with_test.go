package server_test

import (
	"testing"

	"github.com/weirhq/weir/api"
)

// A bulk action tells the rules that it was created with, once they were changed: what repeats it takes those.
func TestABulkActionTellsTheRulesItWasCreatedWith(t *testing.T) {
	n, _, _, path := underWay(t, 30)
	var before, b api.BulkAction
	if n.Call("GET", path, "", 200, &before); before.CreatedWith != nil {
		t.Errorf("before a change it has %+v", before.CreatedWith)
	}
	n.Call("PATCH", path, `{"priority":5,"rates":{"award":"1/m"}}`, 200, nil)
	n.Call("GET", path, "", 200, &b)
	var copied, made api.BulkAction
	n.Call("POST", path+"/clone", "", 201, &made)
	if n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &copied); copied.Priority != before.Priority || len(copied.Rates) != len(before.Rates) {
		t.Errorf("the clone has priority %d and rates %v, want those that it was created with", copied.Priority, copied.Rates)
	}
	if b.Priority != 5 || b.CreatedWith == nil || b.CreatedWith.Priority != before.Priority || len(b.CreatedWith.Rates) != len(before.Rates) {
		t.Errorf("after the change it has priority %d, and was created with %+v", b.Priority, b.CreatedWith)
	}
}
