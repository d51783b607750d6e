package egress

import (
	"fmt"
	"strings"
	"testing"
)

func TestEntriesOfTheAllowList(t *testing.T) {
	for _, tt := range []struct{ entry, want string }{
		{"10.0.0.0/8", "10.0.0.0/8 0-0"},
		{" 10.0.0.7 ", "10.0.0.7/32 0-0"},
		{"127.0.0.1/32:9000-9010", "127.0.0.1/32 9000-9010"},
		{"192.168.1.5:8443", "192.168.1.5/32 8443-8443"},
		{"192.168.1.5:*", "192.168.1.5/32 1-65535"},
		{"fd00::/8", "fd00::/8 0-0"},
		{"::1", "::1/128 0-0"},
		{"[::1]:25", "::1/128 25-25"},
		{"[fd00::/8]:443", "fd00::/8 443-443"},
		{"[fd00::]/8:443-444", "fd00::/8 443-444"},
		{"::ffff:10.0.0.7", "10.0.0.7/32 0-0"},
		{"loopback", "127.0.0.0/8 1-65535 ::1/128 1-65535"},
	} {
		t.Run(tt.entry, func(t *testing.T) {
			var got []string
			for _, r := range allow(t, tt.entry) {
				got = append(got, fmt.Sprintf("%v %d-%d", r.Prefix, r.First, r.Last))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("ParseAllow(%q) = %s, want %s", tt.entry, s, tt.want)
			}
		})
	}
}

func TestBadEntriesAreNamed(t *testing.T) {
	for _, tt := range []struct{ name, entry, want string }{
		{"empty", "", "is neither an address nor a prefix"},
		{"a name", "db.internal", "is neither an address nor a prefix"},
		{"bits that a prefix does not have", "10.0.0.5/8", "did you mean 10.0.0.0/8 or 10.0.0.5?"},
		{"too many bits", "10.0.0.0/33", "is neither"},
		{"IPv4 as IPv6", "::ffff:10.0.0.0/104", "is IPv4 written as IPv6"},
		{"port 0", "10.0.0.0/8:0", `ports "0"`},
		{"port beyond the last", "10.0.0.0/8:65536", `ports "65536"`},
		{"ports from the back", "10.0.0.0/8:20-10", `ports "20-10"`},
		{"open range", "10.0.0.0/8:20-", `ports "20-"`},
		{"zone", "fe80::1%eth0", "is neither"},
		{"open bracket", "[fd00::/8:x", "neither"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseAllow("egress.allow", []string{"10.0.0.0/8", tt.entry})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "egress.allow[1]: ") {
				t.Errorf("ParseAllow(%q) = %v, want egress.allow[1] with %q", tt.entry, err, tt.want)
			}
		})
	}
}
