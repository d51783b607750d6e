package callback

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/store/memstore"
)

func TestEventIsDeliveredAtOnceAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		n := open(t, s, r, nil)
		start(t, n)
		register(t, n, hookURL)
		began := time.Now()
		note(t, n, completed("ba_1"), nil)
		note(t, n, completed("ba_1"), nil)
		time.Sleep(time.Hour)
		note(t, n, completed("ba_1"), nil) // its caller had forgotten that it had
		time.Sleep(time.Hour)
		calls := r.got()
		if len(calls) != 1 || calls[0].at.Sub(began) > time.Second {
			t.Fatalf("calls = %d, want 1 at once", len(calls))
		}
		d := only(t, n, "ba_1")
		if d.State != Delivered || len(d.Attempts) != 1 || d.Attempts[0].Status != 200 || d.Attempts[0].Answer != "thanks" {
			t.Errorf("delivery = %+v, want delivered with one attempt", d)
		}
		if left := pendingNotices(t, s); left != 0 {
			t.Errorf("%d notices are left", left)
		}
	})
}

func TestEndpointThatIsDownGetsTheSameMessageBySchedule(t *testing.T) {
	for _, tt := range []struct {
		name    string
		say     func(int, *http.Request) (*http.Response, error)
		healthy int // the call from which on it is up, 0 for never
		state   State
		code    Code
	}{
		{"refuses connections for four hours", func(int, *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 9, Delivered, CodeConnect},
		{"fails for good", always(500), 0, Failed, CodeStatus},
		{"hangs for an hour", hang, 7, Delivered, CodeTimeout},
		{"redirects", always(307), 0, Failed, CodeRedirect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := memstore.New(memstore.Options{}), &receiver{}
				r.say = func(no int, req *http.Request) (*http.Response, error) {
					if tt.healthy > 0 && no >= tt.healthy {
						return answer(http.StatusNoContent, ""), nil
					}
					return tt.say(no, req)
				}
				n := open(t, s, r, func(o *Options) { o.Random, o.ScanEvery = func() float64 { return 0.5 }, time.Minute })
				start(t, n)
				register(t, n, hookURL)
				note(t, n, completed("ba_1"), nil)
				time.Sleep(48 * time.Hour)
				want := maxAttempts
				if tt.healthy > 0 {
					want = tt.healthy
				}
				calls := r.got()
				if len(calls) != want {
					t.Fatalf("calls = %d, want %d", len(calls), want)
				}
				alike(t, calls)
				d := only(t, n, "ba_1")
				if d.State != tt.state || len(d.Attempts) != want || d.Attempts[0].Code != tt.code {
					t.Errorf("delivery is %s after %d attempts, the first %q; want %s after %d, %q",
						d.State, len(d.Attempts), d.Attempts[0].Code, tt.state, want, tt.code)
				}
				for i := 1; i < len(calls); i++ {
					rested := calls[i].at.Sub(d.Attempts[i-1].At.Add(d.Attempts[i-1].Took))
					if off := rested - delays[i-1]; off < 0 || off > time.Second {
						t.Errorf("rest %d = %v, want %v", i, rested, delays[i-1])
					}
					if calls[i].header.Get("webhook-timestamp") == calls[i-1].header.Get("webhook-timestamp") {
						t.Errorf("call %d has the timestamp of the one before", i+1)
					}
				}
			})
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		r.say = func(no int, _ *http.Request) (*http.Response, error) {
			a := answer(http.StatusServiceUnavailable, "busy")
			a.Header.Set("Retry-After", "600")
			if no > 1 {
				a.StatusCode = http.StatusOK
			}
			return a, nil
		}
		n := open(t, memstore.New(memstore.Options{}), r, nil)
		start(t, n)
		note(t, n, completed("ba_1"), &Target{URL: hookURL})
		time.Sleep(time.Hour)
		calls := r.got()
		if len(calls) != 2 || calls[1].at.Sub(calls[0].at) < 10*time.Minute || calls[1].at.Sub(calls[0].at) > 11*time.Minute {
			t.Errorf("calls = %d, want the second ten minutes after the first", len(calls))
		}
	})
}

func TestGoneDisablesTheEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{say: always(http.StatusGone)}
		n := open(t, memstore.New(memstore.Options{}), r, func(o *Options) { o.ScanEvery = time.Minute })
		start(t, n)
		id, _ := register(t, n, hookURL)
		note(t, n, completed("ba_1"), nil)
		time.Sleep(48 * time.Hour)
		note(t, n, completed("ba_2"), nil)
		time.Sleep(48 * time.Hour)
		e, err := n.Endpoint(t.Context(), id)
		if err != nil || e.Enabled || !strings.Contains(e.Reason, "410") || e.Disabled.IsZero() {
			t.Errorf("endpoint = %+v, %v, want disabled with a reason", e, err)
		}
		if d := only(t, n, "ba_1"); d.State != Failed || len(r.got()) != 1 {
			t.Errorf("delivery is %s after %d calls, want failed after 1", d.State, len(r.got()))
		}
		if p, _ := n.List(t.Context(), Query{BulkAction: "ba_2"}); len(p.Deliveries) != 0 {
			t.Error("a disabled endpoint got a delivery")
		}
	})
}

func TestWhatIsPendingForAnEndpointThatIsNoMoreIsCancelled(t *testing.T) {
	for name, end := range map[string]func(*Notifier, context.Context, string) error{
		"removed": (*Notifier).Remove,
		"switched off": func(n *Notifier, ctx context.Context, id string) error {
			_, err := n.Change(ctx, id, func(e *Endpoint) error { e.Enabled = false; return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, s := &receiver{say: always(500)}, memstore.New(memstore.Options{})
				var counted []Result
				n := open(t, s, r, func(o *Options) {
					o.Counted = func(r Result) { counted = append(counted, r) }
				})
				start(t, n)
				id, _ := register(t, n, hookURL)
				note(t, n, completed("ba_1"), nil)
				time.Sleep(time.Second)
				if err := end(n, t.Context(), id); err != nil {
					t.Fatal(err)
				}
				if name == "switched off" {
					time.Sleep(time.Hour) // until the next attempt: it may be switched on again
				}
				if d := only(t, n, "ba_1"); d.State != Cancelled || d.Attempts[1].Code != CodeDisabled || len(r.got()) != 1 {
					t.Errorf("delivery = %+v after %d calls, want cancelled after 1", d, len(r.got()))
				}
				if left, last := pendingNotices(t, s), counted[len(counted)-1]; left != 0 || last != ResultCancelled {
					t.Errorf("%d notices are left, the last result counted is %s; want none, and cancelled", left, last)
				}
			})
		})
	}
}

// One tenant's receiver hangs, and another tenant has one at the same host and port.
func TestAReceiverThatHangsDelaysNoOtherAtTheSameHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		r.say = func(no int, req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/slow" {
				return hang(no, req)
			}
			return answer(200, ""), nil
		}
		n := open(t, memstore.New(memstore.Options{}), r, nil)
		start(t, n)
		ofTenant := func(tenant, bulk string) Event {
			ev := completed(bulk)
			ev.Tenant = tenant
			return ev
		}
		for i := range 50 {
			note(t, n, ofTenant("a", fmt.Sprintf("ba_slow%d", i)), &Target{URL: "https://hooks.example.com/slow"})
		}
		time.Sleep(time.Second)
		note(t, n, ofTenant("b", "ba_other"), &Target{URL: "https://hooks.example.com/b"})
		time.Sleep(time.Second)
		if d := only(t, n, "ba_other"); d.State != Delivered {
			t.Errorf("delivery of the other tenant is %s after a second, want delivered", d.State)
		}
	})
}

func TestAHungEndpointDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		r.say = func(no int, req *http.Request) (*http.Response, error) {
			if req.URL.Host == "slow.example.com" {
				return hang(no, req)
			}
			return answer(200, ""), nil
		}
		n := open(t, memstore.New(memstore.Options{}), r, func(o *Options) { o.AtOnce = 4 })
		start(t, n)
		for i := range 50 {
			note(t, n, completed(fmt.Sprintf("ba_slow%d", i)), &Target{URL: "https://slow.example.com/"})
		}
		began := time.Now()
		for i := range 50 {
			note(t, n, completed(fmt.Sprintf("ba_%d", i)), &Target{URL: fmt.Sprintf("https://h%d.example.com/", i)})
		}
		time.Sleep(2 * time.Second)
		slow, fast := 0, 0
		for _, c := range r.got() {
			if c.host == "slow.example.com" {
				slow++
			} else if c.at.Sub(began) < time.Second {
				fast++
			}
		}
		if slow != 2 || fast != 50 {
			t.Errorf("within a second: %d calls of the hung host and %d of the others, want 2 and 50", slow, fast)
		}
	})
}

func TestTwoNodesSendOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := memstore.New(memstore.Options{}), &receiver{}
		r.say = func(no int, _ *http.Request) (*http.Response, error) {
			time.Sleep(2 * time.Second)
			if no%3 == 0 {
				return answer(500, ""), nil
			}
			return answer(200, ""), nil
		}
		// They scan all the time, so that both find everything.
		eager := func(o *Options) { o.ScanEvery, o.PerHost = 100*time.Millisecond, 50 }
		a, b := open(t, s, r, eager), open(t, s, r, eager)
		start(t, a)
		start(t, b)
		register(t, a, hookURL)
		time.Sleep(2 * time.Second) // b has not heard of it before
		var both sync.WaitGroup
		for i := range 40 {
			for _, n := range []*Notifier{a, b} {
				both.Go(func() { note(t, n, completed(fmt.Sprintf("ba_%d", i)), nil) })
			}
		}
		both.Wait()
		time.Sleep(time.Hour)
		attempts := 0
		for i := range 40 {
			d := only(t, a, fmt.Sprintf("ba_%d", i))
			attempts += len(d.Attempts)
			if d.State != Delivered {
				t.Errorf("delivery %d is %s", i, d.State)
			}
		}
		if calls := len(r.got()); calls != attempts || attempts < 40 {
			t.Errorf("%d calls for %d attempts on record, want as many", calls, attempts)
		}
		if left := pendingNotices(t, s); left != 0 {
			t.Errorf("%d notices are left", left)
		}
	})
}

func TestWorkIsDividedByOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ra, rb := memstore.New(memstore.Options{}), &receiver{}, &receiver{}
		a := open(t, s, ra, func(o *Options) { o.Owns = func(bulk string) bool { return bulk == "ba_a" } })
		b := open(t, s, rb, func(o *Options) { o.Owns = func(bulk string) bool { return bulk == "ba_b" } })
		start(t, a)
		start(t, b)
		note(t, a, completed("ba_a"), &Target{URL: hookURL})
		note(t, a, completed("ba_b"), &Target{URL: hookURL})
		time.Sleep(time.Minute)
		if len(ra.got()) != 1 || len(rb.got()) != 1 || !strings.Contains(rb.got()[0].body, "ba_b") {
			t.Errorf("calls = %d and %d, want each its own", len(ra.got()), len(rb.got()))
		}
	})
}

func TestStoppingLetsAttemptsEndAndGivesTheOthersBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		want  State
	}{
		{"one that ends soon is delivered", 2 * time.Second, Delivered},
		{"one that does not is left to the next node", 10 * time.Second, Pending},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := memstore.New(memstore.Options{}), &receiver{}
				r.say = func(no int, req *http.Request) (*http.Response, error) {
					select {
					case <-time.After(tt.takes):
						return answer(200, ""), nil
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				}
				n := open(t, s, r, nil)
				stop := start(t, n)
				note(t, n, completed("ba_1"), &Target{URL: hookURL})
				time.Sleep(time.Second)
				stop()
				d := only(t, n, "ba_1")
				if d.State != tt.want || d.Claim != nil || d.Tries > 1 || tt.want == Pending && d.Tries != 0 {
					t.Errorf("delivery = %+v, want %s, unclaimed", d, tt.want)
				}
				start(t, open(t, s, r, nil))
				time.Sleep(time.Minute)
				if d := only(t, n, "ba_1"); d.State != Delivered {
					t.Errorf("delivery is %s after the next node came, want delivered", d.State)
				}
				alike(t, r.got())
			})
		})
	}
}

func TestCountsByResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		counts := map[Result]int{}
		r := &receiver{}
		r.say = func(no int, _ *http.Request) (*http.Response, error) {
			return answer([]int{500, 500, 200, 410}[no-1], ""), nil
		}
		n := open(t, memstore.New(memstore.Options{}), r, func(o *Options) {
			o.Counted = func(res Result) {
				mu.Lock()
				defer mu.Unlock()
				counts[res]++
			}
		})
		start(t, n)
		note(t, n, completed("ba_1"), &Target{URL: hookURL})
		time.Sleep(time.Hour)
		note(t, n, completed("ba_2"), &Target{URL: hookURL})
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if got := fmt.Sprint(counts); got != "map[delivered:1 failed:1 retried:2]" {
			t.Errorf("counts = %s", got)
		}
	})
}
