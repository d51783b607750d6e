package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv/nameserver"
)

var (
	public   = [4]byte{93, 184, 216, 34}
	loopback = [4]byte{127, 0, 0, 1}
)

// errStopped ends a connection that a test has seen and does not want to be made.
var errStopped = errors.New("stopped before it was dialled")

// watched is a guard that dials nothing and notes what it would have dialled.
func watched(p Policy) (*Guard, func() []netip.AddrPort) {
	var mu sync.Mutex
	var dialled []netip.AddrPort
	g := New(p)
	g.connecting = func(_ string, to netip.AddrPort) error {
		mu.Lock()
		defer mu.Unlock()
		dialled = append(dialled, to)
		return errStopped
	}
	return g, func() []netip.AddrPort {
		mu.Lock()
		defer mu.Unlock()
		return dialled
	}
}

// A name that is public when it is looked at and loopback when it is used gains nothing.
func TestNameThatAlternatesNeverReachesLoopback(t *testing.T) {
	dns := &nameserver.Server{Answer: func(n int) [][4]byte {
		if n%2 == 0 {
			return [][4]byte{public}
		}
		return [][4]byte{loopback}
	}}
	var told atomic.Int64
	g, dialled := watched(Policy{Resolver: dns.Resolver(t), Refused: func(*NotAllowedError) { told.Add(1) }})
	client, refused := g.Client(0), 0
	for n := range 1000 {
		var err error
		if n%4 < 2 { // by turns as HTTP and as any other protocol
			_, err = client.Get("http://rebind.example.test/")
		} else {
			_, err = g.DialContext(t.Context(), "tcp", "rebind.example.test:5432")
		}
		if _, ok := errors.AsType[*NotAllowedError](err); ok {
			refused++
		} else if !errors.Is(err, errStopped) {
			t.Fatalf("connection %d = %v", n, err)
		}
	}
	if refused != 500 || told.Load() != 500 || len(dialled()) != 500 {
		t.Errorf("%d refused, %d told, %d dialled; want 500 each", refused, told.Load(), len(dialled()))
	}
	for _, to := range dialled() {
		if to.Addr() != netip.AddrFrom4(public) {
			t.Fatalf("dialled %v", to)
		}
	}
}

// Of several addresses of a name only the allowed ones are tried.
func TestOnlyAllowedAddressesOfANameAreTried(t *testing.T) {
	dns := &nameserver.Server{Answer: func(int) [][4]byte { return [][4]byte{loopback, public, {10, 0, 0, 5}} }}
	g, dialled := watched(Policy{Resolver: dns.Resolver(t)})
	_, _ = g.DialContext(t.Context(), "tcp", "mixed.example.test:443")
	if got := dialled(); len(got) != 1 || got[0].Addr() != netip.AddrFrom4(public) {
		t.Errorf("dialled %v, want %v alone", got, netip.AddrFrom4(public))
	}
}

func TestRefusedConnectTellsTheOperatorMore(t *testing.T) {
	dns := &nameserver.Server{Answer: func(int) [][4]byte { return [][4]byte{{10, 0, 0, 5}} }}
	var told []*NotAllowedError
	g, dialled := watched(Policy{Resolver: dns.Resolver(t), Refused: func(e *NotAllowedError) { told = append(told, e) }})
	_, err := g.Client(0).Get("http://intranet.example.test:8080/")
	if want := `Get "http://intranet.example.test:8080/": address_not_allowed`; err == nil || err.Error() != want {
		t.Errorf("Get = %v, want %s", err, want)
	}
	if len(dialled()) != 0 {
		t.Errorf("dialled %v", dialled())
	}
	want := NotAllowedError{"intranet.example.test:8080", netip.MustParseAddrPort("10.0.0.5:8080"), "10.0.0.5 is private"}
	if len(told) != 1 || *told[0] != want {
		t.Errorf("the operator was told %+v, want %+v", told, want)
	}
}

func TestNameServerIsNotTold(t *testing.T) {
	broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("10.9.8.7:53 is down")
	}}
	_, err := New(Policy{Resolver: broken}).DialContext(t.Context(), "tcp", "a.example.test:443")
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || dns.Server != "" || strings.Contains(err.Error(), ":53") {
		t.Errorf("DialContext = %v, want an error of the name without its server", err)
	}
}

func TestOnlyTCPIsDialled(t *testing.T) {
	g, dialled := watched(Policy{Allow: Loopback()})
	for _, tt := range []struct{ network, address string }{
		{"unix", "/var/run/docker.sock"}, {"unix", "@abstract"}, {"udp", "127.0.0.1:53"}, {"tcp", "127.0.0.1:0"},
	} {
		if _, err := g.DialContext(t.Context(), tt.network, tt.address); err == nil || errors.Is(err, errStopped) {
			t.Errorf("DialContext(%s, %s) = %v, want refused", tt.network, tt.address, err)
		}
	}
	if len(dialled()) != 0 {
		t.Errorf("dialled %v", dialled())
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var inner atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	defer secret.Close()
	outer := httptest.NewServer(http.RedirectHandler(secret.URL, http.StatusTemporaryRedirect))
	defer outer.Close()
	g := New(Policy{Allow: Loopback()}) // even where it could be reached
	defer g.CloseIdleConnections()
	answer, err := g.Client(0).Get(outer.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusTemporaryRedirect || inner.Load() != 0 {
		t.Errorf("Get = %s after %d calls of the target, want the redirect itself and none", answer.Status, inner.Load())
	}
}

func TestLoopbackIsReachedOnlyWhereItIsOpen(t *testing.T) {
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer srv.Close()
	at := strings.TrimPrefix(srv.URL, "http://")
	for _, tt := range []struct {
		name  string
		allow []string
		open  bool
	}{
		{"by default", nil, false},
		{"all of loopback", []string{"loopback"}, true},
		{"this port", []string{at}, true},
		{"another port", []string{"127.0.0.1:1"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := calls.Load()
			g := New(Policy{Allow: allow(t, tt.allow...)})
			defer g.CloseIdleConnections()
			answer, err := g.Client(0).Get(srv.URL)
			if err == nil {
				answer.Body.Close()
			}
			if _, refused := errors.AsType[*NotAllowedError](err); (err == nil) != tt.open || refused == tt.open || (calls.Load() > before) != tt.open {
				t.Errorf("Get = %v after %d calls, want open = %v", err, calls.Load()-before, tt.open)
			}
		})
	}
}

func TestCheckNameLooksBehindTheName(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leads [][4]byte
		bad   bool
	}{
		{"public", [][4]byte{public}, false},
		{"loopback", [][4]byte{loopback}, true},
		{"one of both", [][4]byte{loopback, public}, false},
		{"nowhere", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dns := &nameserver.Server{Answer: func(int) [][4]byte { return tt.leads }}
			g := New(Policy{Resolver: dns.Resolver(t)})
			err := g.CheckName(t.Context(), "callback.url", &url.URL{Scheme: "https", Host: "a.example.test"})
			if (err != nil) != tt.bad {
				t.Fatalf("CheckName = %v, want an error: %v", err, tt.bad)
			}
			if want := "callback.url: a.example.test leads to an address that is not allowed; " + operator; err != nil && err.Error() != want {
				t.Errorf("CheckName = %v, want %s", err, want)
			}
		})
	}
}
