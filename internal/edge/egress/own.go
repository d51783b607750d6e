package egress

import (
	"net"
	"net/netip"
	"os"
	"strings"
)

// Self returns the names and addresses of this machine.
type Self struct {
	Names     func() []string
	Addresses func() []netip.Addr
}

// thisMachine asks the system each time: addresses change.
func thisMachine() Self { return Self{hostNames, interfaceAddresses} }

func hostNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	short, _, _ := strings.Cut(name, ".")
	return []string{strings.ToLower(name), strings.ToLower(short)}
}

func interfaceAddresses() (all []netip.Addr) {
	found, _ := net.InterfaceAddrs() // without them the ranges alone decide
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr().Unmap().WithZone(""))
		}
	}
	return all
}

// has reports whether an address is one of the machine.
func (s Self) has(addr netip.Addr) bool {
	for _, own := range s.Addresses() {
		if own == addr {
			return true
		}
	}
	return false
}

// is reports whether a host name is one of the machine.
func (s Self) is(name string) bool {
	name = strings.TrimSuffix(name, ".")
	for _, own := range s.Names() {
		if own == name {
			return true
		}
	}
	return false
}

// opensSelf reports whether the operator has opened any address of this machine on a port.
func (r rules) opensSelf(port uint16) bool {
	if r.listed(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port) || r.listed(netip.IPv6Loopback(), port) {
		return true
	}
	for _, own := range r.self.Addresses() {
		if r.listed(own, port) {
			return true
		}
	}
	return false
}
