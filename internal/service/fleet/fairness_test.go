package fleet

import (
	"testing"

	"github.com/weirhq/weir/api"
)

func TestSharesAreExplained(t *testing.T) {
	all := func(string) bool { return true }
	own := func(tenant string) bool { return tenant == "ops" }
	share := func(tenant string, entitled, actual float64, ready int64) api.TenantShare {
		return api.TenantShare{Tenant: tenant, Entitled: entitled, Actual: actual, Ready: ready, Rate: 100 * actual, InFlight: 1}
	}
	busy := []api.TenantShare{share("growth", 0.5, 0.3, 100), share("ops", 0.25, 0.45, 100), share("crm", 0.25, 0.25, 100)}
	idle := share("crm", 0.2, 0, 0)
	idle.InFlight = 0
	for _, tt := range []struct {
		what   string
		of     api.TenantShare
		among  []api.TenantShare
		paused bool
		sees   func(string) bool
		want   string
	}{
		{"more", busy[1], busy, false, all, "Borrows 20 points from growth."},
		{"more, for one who sees only itself", busy[1], busy, false, own, "Borrows 20 points from others."},
		{"more, and nobody gets less", busy[1], busy[1:], false, all, "Borrows 20 points that others do not use."},
		{"more, of three", share("a", 0.1, 0.6, 9), append(busy[:1:1], share("b", 0.5, 0.1, 9), share("c", 0.5, 0.1, 9)), false, all,
			"Borrows 50 points from growth, b and others."},
		{"as much", busy[2], busy, false, all, "Gets its share."},
		{"less", busy[0], busy, false, all, "Gets 20 points less: its own limits hold it up, or its work is new."},
		{"less, and its work is at its end", share("crm", 0.5, 0.1, 0), busy, false, all, "Has no more work ready; others use the rest."},
		{"nothing ready", idle, busy, false, all, "Has nothing ready; others use its share."},
		{"nothing sent", share("new", 0.3, 0, 50), busy, false, all, "Nothing of it was sent recently: its work is new, or its own limits hold it up."},
		{"paused", share("crm", 0.3, 0, 50), busy, true, all, "It is paused; others use its share."},
		{"a service that gets no calls", share("crm", 0.3, 0, 50), []api.TenantShare{share("crm", 0.3, 0, 50)}, false, all,
			"Nothing is sent to this service now."},
	} {
		if got := shareText(&tt.of, tt.among, tt.paused, tt.sees); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}
