package callback

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/store/memstore"
)

func TestEndpointsGetWhatTheyWant(t *testing.T) {
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, nil)
	for _, e := range []Endpoint{
		{URL: "https://all.example.com/"},
		{URL: "https://growth.example.com/", Tenant: "growth"},
		{URL: "https://risk.example.com/", Tenant: "risk"},
		{URL: "https://stopped.example.com/", Types: []string{TypeStopped, TypeCancelled}},
		{URL: "https://off.example.com/", Note: "off"},
	} {
		kept, _, err := n.Register(t.Context(), e, "")
		if err == nil && e.Note == "off" {
			_, err = n.Change(t.Context(), kept.ID, func(e *Endpoint) error { e.Enabled = false; return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, tenant, kind string
		oneOff             *Target
		want               string
	}{
		{"completed, of growth", "growth", TypeCompleted, nil, "all growth"},
		{"stopped, of growth", "growth", TypeStopped, nil, "all growth stopped"},
		{"stopped, of risk", "risk", TypeStopped, nil, "all risk stopped"},
		{"of an unregistered tenant, with a callback", "x", TypeCanaryReady, &Target{URL: "https://own.example.com/"}, "all own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := Event{Type: tt.kind, Tenant: tt.tenant}
			to, err := n.destinations(t.Context(), ev, tt.oneOff)
			if err != nil {
				t.Fatal(err)
			}
			var hosts []string
			for _, d := range to {
				hosts = append(hosts, strings.TrimSuffix(d.host, ".example.com"))
			}
			slices.Sort(hosts)
			if got := strings.Join(hosts, " "); got != tt.want {
				t.Errorf("goes to %q, want %q", got, tt.want)
			}
		})
	}
}

// However an event is noted, with any time of day and data: the first decides
// the bytes that all endpoints get.
func TestAllEndpointsGetTheBytesOfWhoWasFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		n := open(t, s, r, nil)
		for i := range 3 {
			register(t, n, fmt.Sprintf("https://h%d.example.com/", i))
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				ev := completed("ba_1")
				ev.At, ev.Data = ev.At.Add(time.Duration(i)*time.Second), fmt.Appendf(nil, `{"from":%d}`, i)
				if err := open(t, s, r, nil).Note(t.Context(), ev, nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		late := completed("ba_1")
		late.At = late.At.Add(time.Hour)
		register(t, n, "https://late.example.com/")
		note(t, n, late, nil)
		start(t, n)
		time.Sleep(time.Minute)
		calls := r.got()
		if len(calls) != 4 {
			t.Fatalf("calls = %d, want one for each of 4 endpoints", len(calls))
		}
		alike(t, calls)
		p, err := n.List(t.Context(), Query{BulkAction: "ba_1"})
		if err != nil || len(p.Deliveries) != 4 {
			t.Errorf("deliveries = %d, %v, want 4", len(p.Deliveries), err)
		}
	})
}

func TestAnEventThatNobodyWantsLeavesNothing(t *testing.T) {
	s := memstore.New(memstore.Options{})
	n := open(t, s, &receiver{}, nil)
	note(t, n, completed("ba_1"), nil)
	if left := everything(t, s); left != "" {
		t.Errorf("the store holds %q", left)
	}
}

func TestACallbackThatCannotBeCalledFailsByItself(t *testing.T) {
	for _, to := range []Target{
		{URL: "::"},
		{URL: ""},
		{URL: "gopher://example.com"},
		{URL: hookURL, Secret: "whsec_short"},
	} {
		synctest.Test(t, func(t *testing.T) {
			// The real client, over a transport that would take anything.
			r := &receiver{}
			n := open(t, memstore.New(memstore.Options{}), r, func(o *Options) { o.ScanEvery = time.Minute })
			start(t, n)
			note(t, n, completed("ba_1"), &to)
			time.Sleep(48 * time.Hour)
			d := only(t, n, "ba_1")
			if to.Secret != "" && (d.State != Failed || d.Attempts[0].Code != CodeSecret || strings.Contains(d.Attempts[0].Error, "short")) {
				t.Errorf("%+v: delivery = %+v, want failed as bad_secret", to, d)
			}
			if d.State == Pending {
				t.Errorf("%+v: delivery is still pending", to)
			}
		})
	}
}
