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
	// Refused is called with every connection that was refused, for the operator's log, by many
	// goroutines. Default: no call.
	Refused func(*NotAllowedError)
}

// NotAllowedError reports a connection that was not made. Its text is safe to show to the user
// who gave the URL and so does not reveal the target; its fields are for the operator.
type NotAllowedError struct {
	Host    string         // as requested, with the port
	Address netip.AddrPort // the resolved address
	Reason  string         // as in "10.0.0.5 is private"
}

// Error returns only the code.
func (e *NotAllowedError) Error() string { return CodeNotAllowed }

// Guard makes connections to allowed addresses only. It is safe for concurrent use.
type Guard struct {
	rules    rules
	dialer   net.Dialer
	refused  func(*NotAllowedError)
	plain    *http.Transport
	resolver *net.Resolver
	// connecting is called with every address that passed, just before it is dialled; tests
	// count and stop connections there.
	connecting func(network string, to netip.AddrPort) error
}

// New returns a guard with a policy.
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

// CloseIdleConnections closes the idle connections of the guard's own clients.
func (g *Guard) CloseIdleConnections() { g.plain.CloseIdleConnections() }

// DialContext connects to a host by TCP, for clients of any protocol. It returns a
// *[NotAllowedError] if the host has no allowed address.
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

// check is called for each address of a host, before it is connected to.
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
	told := &net.DNSError{Err: "name server does not answer", Name: dns.Name, IsTimeout: dns.IsTimeout,
		IsTemporary: dns.IsTemporary, IsNotFound: dns.IsNotFound}
	if dns.IsNotFound {
		told.Err = "no such host"
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: told}
}
