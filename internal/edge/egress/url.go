package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
)

// The codes of refused URLs.
const (
	CodeBadURL     = "bad_url"
	CodeNotAllowed = "address_not_allowed"
)

// Texts that several refusals share.
const (
	example  = "write it as in https://push.example.com/batch"
	operator = "an operator can allow it with egress.allow"
)

// CheckURL accepts a URL that may be called, as far as can be decided without resolving its
// name. It returns names in their ASCII form. Errors are a *[weir.FieldError] and do not repeat
// the URL, which may hold a password.
func (g *Guard) CheckURL(field, raw string) (*url.URL, error) {
	u, port, bad := execute.ParseURL(raw)
	if bad == nil {
		bad = g.checkHost(u, port)
	}
	if bad != nil {
		bad.Field = field
		return nil, bad
	}
	return u, nil
}

func badURL(problem, fix string) *weir.FieldError {
	return &weir.FieldError{Code: CodeBadURL, Problem: problem, Fix: fix}
}

func notAllowed(problem string) *weir.FieldError {
	return &weir.FieldError{Code: CodeNotAllowed, Problem: problem, Fix: operator}
}

// checkHost checks the host and writes its ASCII form into u.
func (g *Guard) checkHost(u *url.URL, port uint16) *weir.FieldError {
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || !addr.Is6() {
			return badURL("has no IPv6 address between [ and ]", "write it as in https://[2600:db::1]/")
		}
		return g.checkAddress(addr, port)
	}
	name, err := asciiName(u.Hostname())
	if err != nil {
		return badURL(fmt.Sprintf("host %s is not a name that can be looked up", quote(u.Hostname())), example)
	}
	u.Host = strings.Replace(u.Host, u.Hostname(), name, 1)
	if isNumber(name) {
		return g.checkNumber(name, port)
	}
	if strings.HasSuffix("."+strings.TrimSuffix(name, "."), ".localhost") {
		if g.rules.refuse(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)) != "" {
			return notAllowed(quote(name) + " is loopback")
		}
		return nil
	}
	if g.rules.self.is(name) && !g.rules.opensSelf(port) {
		return notAllowed(quote(name) + " is this machine")
	}
	if why := lookAlike(name); why != "" {
		return badURL(fmt.Sprintf("host %s %s", quote(name), why), "type the name by hand; names that look like others are refused")
	}
	if !g.rules.opensPort(port) {
		return badPort(port)
	}
	return nil
}

// checkNumber checks a host that lenient parsers take for an IPv4 address, in any notation.
func (g *Guard) checkNumber(name string, port uint16) *weir.FieldError {
	if addr, err := netip.ParseAddr(strings.TrimSuffix(name, ".")); err == nil {
		return g.checkAddress(addr, port)
	}
	addr, ok := looseIPv4(name)
	if !ok {
		return badURL(fmt.Sprintf("host %s ends in a number and is not an IPv4 address", quote(name)), example)
	}
	if what := g.rules.special(addr); what != "" {
		return &weir.FieldError{
			Code: CodeNotAllowed, Problem: fmt.Sprintf("%s means %v, and %s", quote(name), addr, what),
			Fix: "write the address in full; " + operator,
		}
	}
	return badURL(fmt.Sprintf("%s is an unusual way to write an address", quote(name)), fmt.Sprintf("write %v", addr))
}

func (g *Guard) checkAddress(addr netip.Addr, port uint16) *weir.FieldError {
	addr = addr.Unmap()
	switch why := g.rules.refuse(netip.AddrPortFrom(addr, port)); {
	case why == "":
		return nil
	case g.rules.special(addr.WithZone("")) == "":
		return badPort(port)
	default:
		return notAllowed(why)
	}
}

func badPort(port uint16) *weir.FieldError {
	return badURL(fmt.Sprintf("port %d is not allowed: only 80, 443, and 1024 and above are", port), operator)
}

// CheckName resolves the name of an accepted URL and refuses it if none of its addresses is
// allowed, so that users hear of it at once. A name that cannot be resolved now passes; each
// connect checks again anyway.
func (g *Guard) CheckName(ctx context.Context, field string, u *url.URL) error {
	_, port, bad := execute.ParseURL(u.String())
	if bad != nil {
		bad.Field = field
		return bad
	}
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(addrs) == 0 {
		return nil // a name may become known later
	}
	for _, addr := range addrs {
		if g.rules.refuse(netip.AddrPortFrom(addr, port)) == "" {
			return nil
		}
	}
	bad = notAllowed(quote(u.Hostname()) + " leads to an address that is not allowed")
	bad.Field = field
	g.refused(&NotAllowedError{
		Host: net.JoinHostPort(u.Hostname(), strconv.Itoa(int(port))), Address: netip.AddrPortFrom(addrs[0], port),
		Reason: g.rules.refuse(netip.AddrPortFrom(addrs[0], port)),
	})
	return bad
}

// opensPort reports whether any address may be open on a port.
func (r rules) opensPort(port uint16) bool {
	return usualPort(port) || slices.ContainsFunc(r.allow, func(a Rule) bool { return a.coversPort(port) })
}

// quote escapes a part of a URL so that it cannot forge output on a terminal. Plain names are
// unchanged.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "..."
	}
	if q := strconv.QuoteToASCII(s); q != `"`+s+`"` || s == "" {
		return q
	}
	return s
}
