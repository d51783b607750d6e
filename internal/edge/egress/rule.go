package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// Rule opens a range of addresses that would be refused otherwise.
type Rule struct {
	Prefix netip.Prefix
	// First and Last bound the open ports. Both 0 mean the usual ones: 80, 443 and 1024
	// upwards.
	First, Last uint16
}

// Loopback opens every port of this machine, for development and tests.
func Loopback() []Rule {
	return []Rule{
		{netip.MustParsePrefix("127.0.0.0/8"), 1, 65535},
		{netip.MustParsePrefix("::1/128"), 1, 65535},
	}
}

// ParseAllow parses an operator's list: addresses or prefixes, each with a port or a range of
// ports to replace the usual ones, as in "10.0.0.0/8", "127.0.0.1/32:9000-9010",
// "192.168.1.5:8443", "[fd00::/8]:443" and "10.0.0.7:*". The word "loopback" stands for
// [Loopback]. Errors name the entry as in "egress.allow[2]".
func ParseAllow(field string, entries []string) ([]Rule, error) {
	var rules []Rule
	bad := &weir.InputError{}
	for i, entry := range entries {
		if strings.TrimSpace(entry) == "loopback" {
			rules = append(rules, Loopback()...)
			continue
		}
		r, err := parseRule(strings.TrimSpace(entry))
		if err != nil {
			bad.Add("out_of_range", fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("%q %v", entry, err),
				"write it as in 10.0.0.0/8, 192.168.1.5:8443 or [fd00::/8]:9000-9010")
			continue
		}
		rules = append(rules, r)
	}
	return rules, bad.OrNil()
}

func parseRule(entry string) (Rule, error) {
	where, ports := splitPorts(entry)
	prefix, err := parsePrefix(where)
	if err != nil {
		return Rule{}, err
	}
	first, last, err := parsePorts(ports)
	return Rule{prefix, first, last}, err
}

// splitPorts splits the ports off an entry. Only brackets distinguish them from the last part
// of an IPv6 address.
func splitPorts(entry string) (where, ports string) {
	if inside, ok := strings.CutPrefix(entry, "["); ok {
		addr, rest, _ := strings.Cut(inside, "]")
		bits, ports, _ := strings.Cut(rest, ":")
		return addr + bits, ports
	}
	if strings.Count(entry, ":") == 1 {
		where, ports, _ = strings.Cut(entry, ":")
		return where, ports
	}
	return entry, ""
}

func parsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return p, fmt.Errorf("is neither an address nor a prefix")
	case p.Addr().Is4In6():
		return p, fmt.Errorf("is IPv4 written as IPv6")
	case p != p.Masked():
		return p, fmt.Errorf("has bits after the first %d; did you mean %v or %v?", p.Bits(), p.Masked(), p.Addr())
	}
	return p, nil
}

func parsePorts(s string) (first, last uint16, err error) {
	switch s {
	case "":
		return 0, 0, nil
	case "*":
		return 1, 65535, nil
	}
	low, high, isRange := strings.Cut(s, "-")
	if !isRange {
		high = low
	}
	from, err1 := strconv.ParseUint(low, 10, 16)
	to, err2 := strconv.ParseUint(high, 10, 16)
	if err1 != nil || err2 != nil || from == 0 || from > to {
		return 0, 0, fmt.Errorf("has the ports %q, which are neither a port nor a range of ports from 1 to 65535", s)
	}
	return uint16(from), uint16(to), nil
}

// covers reports whether the rule opens an address and a port.
func (r Rule) covers(addr netip.Addr, port uint16) bool {
	return r.Prefix.Contains(addr) && r.coversPort(port)
}

func (r Rule) coversPort(port uint16) bool {
	if r.Last == 0 {
		return usualPort(port)
	}
	return r.First <= port && port <= r.Last
}

// usualPort reports whether web services commonly use a port. Below 1024 are mail, shells and
// name servers, which would take a request for commands of their own.
func usualPort(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }
