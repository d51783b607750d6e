package callback

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store/memstore"
)

func TestListsAreNewestFirst(t *testing.T) {
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, nil)
	a, _ := register(t, n, hookURL)
	b, _ := register(t, n, "https://b.example.com/")
	for i := range 5 {
		ev := completed(fmt.Sprintf("ba_%d", i))
		ev.At = noon.Add(time.Duration(i) * time.Minute)
		note(t, n, ev, &Target{URL: "https://own.example.com/"})
	}
	for _, q := range []Query{{Endpoint: a}, {Endpoint: b}, {}} {
		var got []string
		q.Limit = 2
		for more := true; more; {
			p, err := n.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range p.Deliveries {
				if d.Endpoint != q.Endpoint {
					t.Errorf("list of %q has one of %q", q.Endpoint, d.Endpoint)
				}
				got = append(got, d.BulkAction)
			}
			q.After, more = p.Next, p.Next != ""
		}
		if list := strings.Join(got, " "); list != "ba_4 ba_3 ba_2 ba_1 ba_0" {
			t.Errorf("deliveries of %q = %s, want newest first", q.Endpoint, list)
		}
	}
	if p, err := n.List(t.Context(), Query{BulkAction: "ba_3"}); err != nil || len(p.Deliveries) != 3 {
		t.Errorf("deliveries of ba_3 = %d, %v, want 3", len(p.Deliveries), err)
	}
}

func TestFailedDeliveryIsSentAgainWithTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{say: always(500)}
		n := open(t, s, r, func(o *Options) { o.ScanEvery = time.Minute })
		start(t, n)
		register(t, n, hookURL)
		note(t, n, completed("ba_1"), nil)
		time.Sleep(48 * time.Hour)
		d := only(t, n, "ba_1")
		if d.State != Failed {
			t.Fatalf("delivery is %s, want failed", d.State)
		}
		r.say = func(int, *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answer(200, ""), nil
		}
		for range 2 { // a second click changes nothing
			if d, err := n.Resend(t.Context(), d.ID); err != nil || d.State != Pending || d.Round != 2 {
				t.Fatalf("Resend = %+v, %v, want pending in round 2", d, err)
			}
		}
		time.Sleep(time.Hour)
		if d := only(t, n, "ba_1"); d.State != Delivered || d.Tries != 1 || len(d.Attempts) != 12 {
			t.Errorf("delivery = %s after %d tries and %d attempts, want delivered, 1, 12", d.State, d.Tries, len(d.Attempts))
		}
		alike(t, r.got())
		if _, err := n.Resend(t.Context(), d.ID); err != nil { // one that was delivered, too
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if calls := len(r.got()); calls != 13 || pendingNotices(t, s) != 0 {
			t.Errorf("calls = %d with %d notices left, want 13 and none", calls, pendingNotices(t, s))
		}
		if _, err := n.Resend(t.Context(), "dlv_none"); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Resend of none = %v, want ErrNotFound", err)
		}
	})
}

// A node dies at each step of sending again: it is sent again, or stays as it was
// and can be, and in the end nothing is left over.
func TestACrashWhileSendingAgainLeavesNothingBehind(t *testing.T) {
	for step := 1; step <= 8; step++ {
		for _, late := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s, r := memstore.New(memstore.Options{}), &receiver{}
				n := open(t, s, r, nil)
				start(t, n)
				note(t, n, completed("ba_1"), &Target{URL: hookURL})
				time.Sleep(time.Second)
				d := only(t, n, "ba_1")
				_, err := open(t, &mortal{Keeper: s, late: late, left: step}, r, nil).Resend(t.Context(), d.ID)
				time.Sleep(30 * time.Minute)
				after, calls := only(t, n, "ba_1"), len(r.got())
				if after.State != Delivered || after.Round != calls || err == nil && calls != 2 || pendingNotices(t, s) != 0 {
					t.Errorf("step %d, late=%v: Resend = %v, then %s in round %d after %d calls, %d notices left",
						step, late, err, after.State, after.Round, calls, pendingNotices(t, s))
				}
				if _, err := n.Resend(t.Context(), d.ID); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if again := len(r.got()); again != calls+1 {
					t.Errorf("step %d, late=%v: %d calls after sending again, want %d", step, late, again, calls+1)
				}
			})
		}
	}
}

func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		n := open(t, s, r, func(o *Options) { o.ScanEvery = time.Second })
		start(t, n)
		id, _ := register(t, n, hookURL)
		if _, err := n.Change(t.Context(), id, func(e *Endpoint) error { e.Enabled = false; return nil }); err != nil {
			t.Fatal(err)
		}
		for i, say := range []func(int, *http.Request) (*http.Response, error){always(200), always(500), hang} {
			r.say = say
			d, err := n.Test(t.Context(), id)
			if err != nil || d.Type != TypePing || len(d.Attempts) != 1 || (d.State == Delivered) != (i == 0) {
				t.Errorf("Test %d = %+v, %v, want its result", i, d, err)
			}
		}
		time.Sleep(time.Hour)
		if calls := len(r.got()); calls != 3 || pendingNotices(t, s) != 0 {
			t.Errorf("calls = %d with %d notices left, want one for each", calls, pendingNotices(t, s))
		}
		if p, err := n.List(t.Context(), Query{Endpoint: id}); err != nil || len(p.Deliveries) != 3 {
			t.Errorf("deliveries = %d, %v, want 3", len(p.Deliveries), err)
		}
		if _, err := n.Test(t.Context(), "whk_none"); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Test of none = %v, want ErrNotFound", err)
		}
	})
}

func TestOldDeliveriesArePruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		r.say = func(_ int, req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Host, "down") {
				return answer(500, ""), nil
			}
			return answer(200, ""), nil
		}
		n := open(t, s, r, nil)
		stop := start(t, n)
		empty := everything(t, s)
		for i := range 3 {
			note(t, n, completed(fmt.Sprintf("ba_old%d", i)), &Target{URL: hookURL})
		}
		note(t, n, completed("ba_down"), &Target{URL: "https://down.example.com/"})
		id, _ := register(t, n, hookURL)
		note(t, n, completed("ba_both"), &Target{URL: hookURL})
		time.Sleep(time.Hour)
		limit := time.Now()
		note(t, n, completed("ba_new"), &Target{URL: hookURL})
		time.Sleep(time.Second)
		stop()
		if removed, err := n.Prune(t.Context(), limit); err != nil || removed != 5 {
			t.Errorf("Prune = %d, %v, want 5: neither the new nor the pending", removed, err)
		}
		for bulk, want := range map[string]int{"ba_old0": 0, "ba_both": 0, "ba_down": 1, "ba_new": 2} {
			if p, err := n.List(t.Context(), Query{BulkAction: bulk}); err != nil || len(p.Deliveries) != want {
				t.Errorf("deliveries of %s = %d, %v, want %d", bulk, len(p.Deliveries), err, want)
			}
		}
		start(t, n)
		time.Sleep(48 * time.Hour)
		if err := n.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Prune(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if left := everything(t, s); left != empty {
			t.Errorf("left after all was pruned: %s", left)
		}
	})
}
