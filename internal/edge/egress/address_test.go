package egress

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every row is an address and what the operator reads of it; nothing for public ones.
func TestAddressesThatAreNotPublic(t *testing.T) {
	for _, tt := range []struct{ addr, want string }{
		{"8.8.8.8", ""},
		{"1.1.1.1", ""},
		{"9.255.255.255", ""},
		{"11.0.0.0", ""},
		{"100.63.255.255", ""},
		{"100.128.0.0", ""},
		{"126.255.255.255", ""},
		{"128.0.0.1", ""},
		{"169.253.255.255", ""},
		{"172.15.255.255", ""},
		{"172.32.0.0", ""},
		{"192.167.255.255", ""},
		{"192.169.0.0", ""},
		{"198.20.0.0", ""},
		{"223.255.255.255", ""},
		{"2606:4700:4700::1111", ""},
		{"2a00:1450:4001::200e", ""},
		{"::ffff:8.8.8.8", ""},
		{"0.0.0.0", "no address"},
		{"0.1.2.3", "reserved"},
		{"10.0.0.0", "private"},
		{"10.0.0.5", "private"},
		{"10.255.255.255", "private"},
		{"100.64.0.1", "reserved"},
		{"100.100.100.200", "reserved"},
		{"100.127.255.255", "reserved"},
		{"127.0.0.1", "loopback"},
		{"127.1.2.3", "loopback"},
		{"127.255.255.255", "loopback"},
		{"168.63.129.16", "metadata"},
		{"169.254.0.1", "link-local"},
		{"169.254.169.254", "metadata"},
		{"169.254.170.2", "link-local"},
		{"172.16.0.1", "private"},
		{"172.31.255.255", "private"},
		{"192.0.0.1", "reserved"},
		{"192.0.0.192", "reserved"},
		{"192.0.2.1", "reserved"},
		{"192.31.196.1", "reserved"},
		{"192.52.193.1", "reserved"},
		{"192.88.99.1", "reserved"},
		{"192.168.0.1", "private"},
		{"192.168.255.255", "private"},
		{"192.175.48.1", "reserved"},
		{"198.18.0.1", "reserved"},
		{"198.19.255.255", "reserved"},
		{"198.51.100.1", "reserved"},
		{"203.0.113.1", "reserved"},
		{"224.0.0.1", "multicast"},
		{"239.255.255.250", "multicast"},
		{"240.0.0.1", "reserved"},
		{"255.255.255.255", "reserved"},
		{"::", "no address"},
		{"::1", "loopback"},
		{"::7f00:1", "stands for 127.0.0.1 (IPv4-compatible)"},
		{"::ffff:127.0.0.1", "127.0.0.1 is loopback"},
		{"::ffff:10.0.0.5", "10.0.0.5 is private"},
		{"::ffff:169.254.169.254", "metadata"},
		{"::ffff:0:127.0.0.1", "reserved"},
		{"64:ff9b::127.0.0.1", "stands for 127.0.0.1 (NAT64)"},
		{"64:ff9b::8.8.8.8", "stands for 8.8.8.8 (NAT64)"},
		{"64:ff9b:1::10.0.0.5", "stands for 10.0.0.5 (local NAT64)"},
		{"100::1", "reserved"},
		{"2001::1", "Teredo"},
		{"2001:0:4136:e378:8000:63bf:80ff:fffe", "stands for 127.0.0.1 (Teredo)"},
		{"2001:2::1", "reserved"},
		{"2001:10::1", "reserved"},
		{"2001:20::1", "reserved"},
		{"2001:db8::1", "reserved"},
		{"2002:7f00:1::", "stands for 127.0.0.1 (6to4)"},
		{"2002:a00:5::1", "stands for 10.0.0.5 (6to4)"},
		{"2620:4f:8000::1", "reserved"},
		{"3fff::1", "reserved"},
		{"4000::1", "reserved"},
		{"5f00::1", "reserved"},
		{"fc00::1", "private"},
		{"fd00:ec2::254", "metadata"},
		{"fdff::1", "private"},
		{"fe80::1", "link-local"},
		{"fe80::1%eth0", "link-local"},
		{"fec0::1", "reserved"},
		{"ff02::1", "multicast"},
		{"ff0e::1", "multicast"},
	} {
		t.Run(tt.addr, func(t *testing.T) {
			got := newRules(nil, thisMachine()).refuse(netip.AddrPortFrom(netip.MustParseAddr(tt.addr), 443))
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("refuse(%s) = %q, want %q", tt.addr, got, tt.want)
			}
			if got := newRules(Loopback(), thisMachine()).refuse(netip.AddrPortFrom(netip.MustParseAddr(tt.addr), 443)); got == "" && tt.want != "" && tt.want != "loopback" && tt.addr != "::ffff:127.0.0.1" {
				t.Errorf("refuse(%s) = \"\" where loopback alone is open", tt.addr)
			}
		})
	}
}

func TestPortsAndTheAllowList(t *testing.T) {
	for _, tt := range []struct {
		name  string
		allow []string
		to    string
		want  string
	}{
		{"http", nil, "8.8.8.8:80", ""},
		{"https", nil, "8.8.8.8:443", ""},
		{"first high port", nil, "8.8.8.8:1024", ""},
		{"shell", nil, "8.8.8.8:22", "port 22"},
		{"mail", nil, "8.8.8.8:25", "port 25"},
		{"last low port", nil, "8.8.8.8:1023", "port 1023"},
		{"no port", nil, "8.8.8.8:0", "port 0"},
		{"an opened prefix", []string{"10.0.0.0/8"}, "10.1.2.3:8080", ""},
		{"an opened prefix has the usual ports only", []string{"10.0.0.0/8"}, "10.1.2.3:22", "private"},
		{"another prefix", []string{"10.0.0.0/8"}, "192.168.0.1:443", "private"},
		{"an opened port", []string{"10.0.0.5:22"}, "10.0.0.5:22", ""},
		{"beside an opened port", []string{"10.0.0.5:22"}, "10.0.0.5:443", "private"},
		{"beside an opened address", []string{"10.0.0.5:22"}, "10.0.0.6:22", "private"},
		{"first of a range", []string{"127.0.0.1:9000-9010"}, "127.0.0.1:9000", ""},
		{"last of a range", []string{"127.0.0.1:9000-9010"}, "127.0.0.1:9010", ""},
		{"after a range", []string{"127.0.0.1:9000-9010"}, "127.0.0.1:9011", "loopback"},
		{"a low port of a public address", []string{"8.8.8.0/24:25"}, "8.8.8.8:25", ""},
		{"mapped into IPv6", []string{"10.0.0.0/8"}, "[::ffff:10.0.0.5]:443", ""},
		{"a list for IPv4 opens no way round", []string{"127.0.0.1"}, "[64:ff9b::127.0.0.1]:443", "NAT64"},
		{"an opened gateway leads to public addresses", []string{"64:ff9b::/96"}, "[64:ff9b::8.8.8.8]:443", ""},
		{"an opened gateway leads to no private ones", []string{"64:ff9b::/96"}, "[64:ff9b::10.0.0.5]:443", "10.0.0.5 is private"},
		{"all of IPv6 opens no gateway to private ones", []string{"::/0"}, "[2002:a00:5::1]:443", "10.0.0.5 is private"},
		{"a zone does not hide an address", []string{"fe80::/10"}, "[fe80::1%eth0]:443", ""},
		{"port 0 cannot be opened", []string{"loopback"}, "127.0.0.1:0", "port 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newRules(allow(t, tt.allow...), thisMachine()).refuse(netip.MustParseAddrPort(tt.to))
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("refuse(%s) with %v open = %q, want %q", tt.to, tt.allow, got, tt.want)
			}
		})
	}
}

// However a private IPv4 address is wrapped into IPv6, it stays refused.
func TestNoWrappingOpensAnAddress(t *testing.T) {
	private := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
		netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	}
	r := newRules(nil, thisMachine())
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(private).Draw(t, "prefix")
		v4 := p.Addr().As4()
		n := binary.BigEndian.Uint32(v4[:]) | rapid.Uint32().Draw(t, "host")>>p.Bits()
		inner := binary.BigEndian.AppendUint32(nil, n)
		wraps := map[string]string{
			"plain": "", "mapped": "::ffff:0:0", "compatible": "::", "NAT64": "64:ff9b::", "local NAT64": "64:ff9b:1::",
		}
		for name, prefix := range wraps {
			addr := netip.AddrFrom4([4]byte(inner))
			if prefix != "" {
				wide := netip.MustParseAddr(prefix).As16()
				copy(wide[12:], inner)
				addr = netip.AddrFrom16(wide)
			}
			if r.refuse(netip.AddrPortFrom(addr, 443)) == "" {
				t.Fatalf("%s (%s) is open", addr, name)
			}
		}
	})
}
