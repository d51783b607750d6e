package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Policy configures a [Guard]. The zero value opens public addresses only.
type Policy struct {
	// Allow opens more, see [ParseAllow].
	Allow []Rule
	// Resolver looks names up. Default [net.DefaultResolver].
	Resolver *net.Resolver
	// Refused hears of every connection that was refused, for the operator's log.
	// It is called by many goroutines. Default: nobody hears.
	Refused func(*NotAllowedError)
}

// NotAllowedError is a connection that was not made. Its text is fit for whoever
// gave the URL and so says nothing of what is there; its fields are the operator's.
type NotAllowedError struct {
	Host    string         // as it was asked for, with the port
	Address netip.AddrPort // where that led
	Reason  string         // as in "10.0.0.5 is private"
}

// Error is the code alone.
func (e *NotAllowedError) Error() string { return CodeNotAllowed }

// Guard makes connections to allowed addresses only. It may be used by many goroutines.
type Guard struct {
	rules    rules
	dialer   net.Dialer
	refused  func(*NotAllowedError)
	plain    *http.Transport
	resolver *net.Resolver
	// connecting sees every address that passed, just before it is dialled; tests
	// count and stop them there.
	connecting func(network string, to netip.AddrPort) error
}

// New returns a guard of a policy.
func New(p Policy) *Guard {
	g := &Guard{
		rules:      newRules(p.Allow, thisMachine()),
		dialer:     net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, Resolver: p.Resolver},
		refused:    p.Refused,
		resolver:   p.Resolver,
		connecting: func(string, netip.AddrPort) error { return nil },
	}
	if g.refused == nil {
		g.refused = func(*NotAllowedError) {}
	}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	g.plain = g.Transport(TLSOptions{})
	return g
}

// CloseIdleConnections closes what the guard's own clients keep open for later.
func (g *Guard) CloseIdleConnections() { g.plain.CloseIdleConnections() }

// DialContext connects to a host by TCP, for clients of any protocol. It returns a
// *[NotAllowedError] if that leads only to where it must not go.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := g.dialer
	dialer.Control = func(network, to string, _ syscall.RawConn) error { return g.check(address, network, to) }
	conn, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if refused, ok := errors.AsType[*NotAllowedError](err); ok {
		return nil, refused // without the wrapping, which names the address
	}
	return nil, withoutServer(err)
}

// check is asked for each address that a host led to, before it is connected to.
func (g *Guard) check(host, network, to string) error {
	refuse := func(at netip.AddrPort, reason string) error {
		err := &NotAllowedError{Host: host, Address: at, Reason: reason}
		g.refused(err)
		return err
	}
	at, err := netip.ParseAddrPort(to)
	if network != "tcp4" && network != "tcp6" || err != nil {
		return refuse(at, network+" is not TCP")
	}
	if reason := g.rules.refuse(at); reason != "" {
		return refuse(at, reason)
	}
	return g.connecting(network, at)
}

// withoutServer hides which name server was asked and how: it is inside the network.
func withoutServer(err error) error {
	dns, ok := errors.AsType[*net.DNSError](err)
	if !ok {
		return err
	}
	told := &net.DNSError{Err: "name server does not answer", Name: dns.Name, IsTimeout: dns.IsTimeout, IsTemporary: dns.IsTemporary, IsNotFound: dns.IsNotFound}
	if dns.IsNotFound {
		told.Err = "no such host"
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: told}
}
