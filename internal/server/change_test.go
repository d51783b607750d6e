package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestTheTagOfABulkActionIsThatOfItsRules(t *testing.T) {
	n, gate, b, path := underWay(t, 30)
	tag := func() string {
		t.Helper()
		h := n.Call("GET", path, "", 200, nil)
		if h.Get("ETag") == "" {
			t.Fatal("it has no ETag")
		}
		return h.Get("ETag")
	}
	seen := []string{tag()}
	for _, change := range []string{
		`{"priority":5}`, `{"tier":"high"}`, `{"concurrency":7}`, `{"rates":{"award":"9000/s"}}`, `{"stop_on":{"max_failures":20}}`, `{"rates":{"award":"unlimited"}}`,
	} {
		answered := n.Call("PATCH", path, change, 200, nil).Get("ETag")
		now := tag()
		if answered != now || slices.Contains(seen, now) {
			t.Errorf("after %s the tag is %s, was told as %s, and was seen before in %q", change, now, answered, seen)
		}
		seen = append(seen, now)
	}
	if now := n.Call("PATCH", path, `{"priority":5,"reason":"as it is"}`, 200, nil).Get("ETag"); now != seen[len(seen)-1] {
		t.Errorf("a change to what is there makes the tag %s of %s", now, seen[len(seen)-1])
	}
	n.Call("POST", path+"/pause", `{"reason":"lunch"}`, 200, nil)
	n.Call("POST", path+"/resume", `{}`, 200, nil)
	gate.open()
	n.Until(b.ID, api.Completed)
	if now := tag(); now != seen[len(seen)-1] {
		t.Errorf("what happens to items makes the tag %s of %s", now, seen[len(seen)-1])
	}
}

func TestAChangeOfTheFailureRuleLeavesTheMembersAloneThatItDoesNotName(t *testing.T) {
	n, _, _, path := underWay(t, 30)
	for _, tt := range []struct {
		change string
		status int
		want   api.StopOn
	}{
		{`{"stop_on":{"failure_rate":0.05}}`, 200, api.StopOn{FailureRate: 0.05}},
		{`{"stop_on":{"min_items":50}}`, 200, api.StopOn{FailureRate: 0.05, MinItems: 50}},
		{`{"stop_on":{"max_failures":20,"cancel":true}}`, 200, api.StopOn{FailureRate: 0.05, MinItems: 50, MaxFailures: 20, Cancel: true}},
		{`{"stop_on":{"cancel":false}}`, 200, api.StopOn{FailureRate: 0.05, MinItems: 50, MaxFailures: 20}},
		{`{"stop_on":{"failure_rate":0}}`, 422, api.StopOn{FailureRate: 0.05, MinItems: 50, MaxFailures: 20}},
		{`{"stop_on":{"failure_rate":0,"min_items":0}}`, 200, api.StopOn{MaxFailures: 20}},
		{`{"stop_on":{}}`, 200, api.StopOn{}},
		{`{"stop_on":{"min_items":50}}`, 422, api.StopOn{}},
	} {
		n.Call("PATCH", path, tt.change, tt.status, nil)
		var b api.BulkAction
		n.Call("GET", path, "", 200, &b)
		var got api.StopOn
		if b.StopOn != nil {
			got = *b.StopOn
		}
		if got != tt.want {
			t.Errorf("after %s the rule is %+v, want %+v", tt.change, got, tt.want)
		}
	}
}

func TestAChangeIsMadeOnlyToTheRulesThatWereRead(t *testing.T) {
	n, _, _, path := underWay(t, 30)
	old := n.Call("GET", path, "", 200, nil).Get("ETag")
	current := n.Call("PATCH", path, `{"priority":5}`, 200, nil).Get("ETag")
	for _, tt := range []struct {
		name, match, change string
		status              int
		priority            int
	}{
		{"a stale tag", old, `{"priority":6}`, 412, 5},
		{"a weak tag", "W/" + current, `{"priority":6}`, 412, 5},
		{"no tag at all", `"nonsense"`, `{"priority":6}`, 412, 5},
		{"a stale tag with a change that changes nothing", old, `{"priority":5}`, 412, 5},
		{"the tag with bad rules", current, `{"rates":{"nope":"5/s"}}`, 422, 5},
		{"the tag, after what was refused", current, `{"priority":7}`, 200, 7},
		{"several tags, all of them stale by now", old + ", " + current, `{"priority":8}`, 412, 7},
		{"whatever is there", "*", `{"priority":9}`, 200, 9},
		{"without a condition", "", `{"priority":10}`, 200, 10},
	} {
		h := http.Header{}
		if tt.match != "" {
			h = ifMatch(tt.match)
		}
		var p api.Problem
		n.CallWith("PATCH", path, tt.change, h, tt.status, &p)
		if tt.status == 412 && p.Code != "changed_meanwhile" {
			t.Errorf("%s: refused as %s", tt.name, p.Code)
		}
		var now api.BulkAction
		if n.Call("GET", path, "", 200, &now); now.Priority != tt.priority {
			t.Errorf("%s: the priority is %d, want %d", tt.name, now.Priority, tt.priority)
		}
	}
	n.Call("POST", path+"/cancel", `{}`, 200, nil)
	n.CallWith("PATCH", path, `{"priority":3}`, ifMatch(old), 409, nil) // what cannot be done at all comes first
}

func TestOfChangesToTheSameRulesOneIsMade(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	t.Cleanup(gate.open)
	b := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`)
	path := "/v1/bulk-actions/" + b.ID
	for round := range 5 {
		tag := n.Call("GET", path, "", 200, nil).Get("ETag")
		var all sync.WaitGroup
		var mu sync.Mutex
		var made []int
		for i := range 6 {
			priority := 10*round + i + 1
			all.Go(func() {
				resp := n.Request(t.Context(), "PATCH", path, fmt.Sprintf(`{"priority":%d}`, priority), ifMatch(tag))
				defer resp.Body.Close()
				mu.Lock()
				defer mu.Unlock()
				switch resp.StatusCode {
				case http.StatusOK:
					made = append(made, priority)
				case http.StatusPreconditionFailed, http.StatusConflict: // the latter on a busy machine
				default:
					t.Errorf("status %d", resp.StatusCode)
				}
			})
		}
		all.Wait()
		var now api.BulkAction
		n.Call("GET", path, "", 200, &now)
		if len(made) != 1 || now.Priority != made[0] {
			t.Errorf("round %d: made are %v of 6 changes with the same tag, and the priority is %d", round, made, now.Priority)
		}
	}
}
