package egress

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"code.dny.dev/ssrf"
)

// azureWire is a public address that serves secrets to the machines of one cloud.
var azureWire = netip.MustParsePrefix("168.63.129.16/32")

// rules decides which connections may be made. It never changes.
type rules struct {
	allow  []Rule
	public *ssrf.Guardian
	self   Self
}

func newRules(allow []Rule, self Self) rules {
	return rules{allow: allow, self: self, public: ssrf.New(ssrf.WithAnyNetwork(), ssrf.WithAnyPort(),
		ssrf.WithDeniedV4Prefixes(azureWire))}
}

// refuse returns why a connection must not be made, or an empty string if it may be.
func (r rules) refuse(to netip.AddrPort) string {
	addr := to.Addr().Unmap().WithZone("")
	if to.Port() == 0 {
		return "port 0 is not a port"
	}
	if r.listed(addr, to.Port()) {
		// A rule for an IPv4 gateway does not open the addresses behind it.
		if inner, _ := embedded(addr); inner.IsValid() {
			return r.refuse(netip.AddrPortFrom(inner, to.Port()))
		}
		return ""
	}
	if what := r.special(addr); what != "" {
		return what
	}
	if !usualPort(to.Port()) {
		return fmt.Sprintf("port %d is not allowed: only 80, 443, and 1024 and above are", to.Port())
	}
	return ""
}

func (r rules) listed(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(r.allow, func(a Rule) bool { return a.covers(addr, port) })
}

// special describes an address that is not public, or of this machine; it is empty otherwise.
func (r rules) special(addr netip.Addr) string {
	if r.public.SafeAddr(addr) == nil {
		if r.self.has(addr) {
			return fmt.Sprintf("%v is an address of this machine", addr)
		}
		return ""
	}
	if inner, by := embedded(addr); inner.IsValid() {
		return fmt.Sprintf("%v stands for %v (%s)", addr, inner, by)
	}
	return fmt.Sprintf("%v is %s", addr, kind(addr))
}

// kind returns the common name of an address range.
func kind(addr netip.Addr) string {
	switch {
	case addr == netip.AddrFrom4([4]byte{169, 254, 169, 254}), addr == netip.MustParseAddr("fd00:ec2::254"), azureWire.Contains(addr):
		return "a metadata address"
	case addr.IsLoopback():
		return "loopback"
	case addr.IsUnspecified():
		return "no address"
	case addr.IsPrivate():
		return "private"
	case addr.IsLinkLocalUnicast():
		return "link-local"
	case addr.IsMulticast():
		return "multicast"
	}
	return "reserved"
}

// gateways lists the IPv6 ranges that carry an IPv4 address, where it lies and whether its bits
// are flipped.
var gateways = []struct {
	prefix netip.Prefix
	name   string
	at     int
	flip   uint32
}{
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64", 12, 0},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local NAT64", 12, 0},
	{netip.MustParsePrefix("2002::/16"), "6to4", 2, 0},
	{netip.MustParsePrefix("2001::/32"), "Teredo", 12, ^uint32(0)},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible", 12, 0},
}

// embedded returns the IPv4 address that an IPv6 address leads to, and the scheme.
func embedded(addr netip.Addr) (inner netip.Addr, by string) {
	if !addr.Is6() || addr.IsUnspecified() || addr.IsLoopback() {
		return netip.Addr{}, ""
	}
	bytes := addr.As16()
	for _, g := range gateways {
		if g.prefix.Contains(addr) {
			v4 := binary.BigEndian.Uint32(bytes[g.at:]) ^ g.flip
			return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, v4))), g.name
		}
	}
	return netip.Addr{}, ""
}
