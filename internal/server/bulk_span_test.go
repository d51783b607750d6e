package server_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// listed reads a whole list, page by page.
func listed(n *nodetest.Node, query url.Values) (ids []string) {
	for {
		var page api.Page[api.BulkAction]
		n.Call("GET", "/v1/bulk-actions?"+query.Encode(), "", 200, &page)
		for _, b := range page.Data {
			ids = append(ids, b.ID)
		}
		if query.Set("cursor", page.NextCursor); !page.HasMore {
			return ids
		}
	}
}

func TestAListBetweenTwoTimesHasWhatWasCreatedThenDraftsToo(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	var all []api.BulkAction // the newest first
	for i := range 6 {
		items := []string{"", `,"items":[{"id":"u1"}]`}[i%2]
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", `{"tenant":"acme","steps":[{"action":"award"}]`+items+`}`, 201, &b)
		all = slices.Insert(all, 0, b)
		n.Eventually("the next one is of another millisecond", func() bool { return time.Since(b.CreatedAt) >= time.Millisecond })
	}
	at := func(i int) string { return all[i].CreatedAt.Format(time.RFC3339Nano) }
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			var want []string
			for _, b := range all[i+1 : j+1] {
				want = append(want, b.ID)
			}
			for _, more := range []url.Values{{}, {"tenant": {"acme"}}, {"limit": {"1"}}, {"state": {"draft,sealed"}, "limit": {"2"}}} {
				more.Set("created_after", at(j))
				more.Set("created_before", at(i))
				if got := listed(n, more); !slices.Equal(got, want) {
					t.Errorf("%v has %v, want %v", more, got, want)
				}
			}
		}
	}
	if got := listed(n, url.Values{"created_after": {at(1)}}); len(got) != 2 {
		t.Errorf("after %s: %v, want two", at(1), got)
	}
	if got := listed(n, url.Values{"created_before": {at(3)}, "state": {"draft"}}); !slices.Equal(got, []string{all[5].ID}) {
		t.Errorf("drafts before %s: %v, want %s", at(3), got, all[5].ID)
	}
}

func TestTimesOfAFilterThatCannotBeMeantAreRefused(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	for _, tt := range []struct{ path, field, says string }{
		{"bulk-actions?created_after=2026-02-01T00:00:00Z&created_before=2026-01-01T00:00:00Z", "created_after", "2026-02-01T00:00:00Z is not before created_before, 2026-01-01T00:00:00Z"},
		{"bulk-actions?created_after=2026-01-01T00:00:00Z&created_before=2026-01-01T01:00:00%2B01:00", "created_after", "is not before created_before"},
		{"bulk-actions?created_before=0001-01-01T00:00:00Z", "created_before", "0001-01-01T00:00:00Z is before 1970"},
		{"bulk-actions?created_after=1969-12-31T23:59:59Z", "created_after", "is before 1970"},
		{"dlq?since=0001-01-01T00:00:00Z", "since", "is before 1970"},
		{"bulk-actions?created_after=yesterday", "created_after", "yesterday"},
	} {
		var p api.Problem
		n.Call("GET", "/v1/"+tt.path, "", 400, &p)
		if len(p.Errors) != 1 || p.Errors[0].Field != tt.field || p.Fix == "" || !strings.Contains(p.Detail+p.Errors[0].Value, tt.says) {
			t.Errorf("%s: %+v, want a fault of %s that says %q and what to do", tt.path, p, tt.field, tt.says)
		}
	}
}
