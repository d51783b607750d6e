package egress

import (
	"net"
	"net/netip"
	"os"
	"slices"
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
func (s Self) has(addr netip.Addr) bool { return slices.Contains(s.Addresses(), addr) }

// is reports whether a host name is one of the machine.
func (s Self) is(name string) bool { return slices.Contains(s.Names(), strings.TrimSuffix(name, ".")) }

// opensSelf reports whether the operator has opened any address of this machine on a port.
func (r rules) opensSelf(port uint16) bool {
	own := append(r.self.Addresses(), netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback())
	return slices.ContainsFunc(own, func(addr netip.Addr) bool { return r.listed(addr, port) })
}
