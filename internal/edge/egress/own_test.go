package egress

import (
	"net/netip"
	"strings"
	"testing"
)

// machine is one with a public address, as many servers have.
func machine() Self {
	return Self{
		Names: func() []string { return []string{"weir-1.example.com", "weir-1"} },
		Addresses: func() []netip.Addr {
			return []netip.Addr{netip.MustParseAddr("8.8.4.4"), netip.MustParseAddr("2600:9000::7")}
		},
	}
}

func TestTheMachineItselfIsNotAllowed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		allow []string
		url   string
		ok    bool
	}{
		{"its name", nil, "http://weir-1:8080/", false},
		{"its whole name, in other letters and with a dot", nil, "https://Weir-1.Example.Com./", false},
		{"its public address", nil, "http://8.8.4.4/", false},
		{"its public address, mapped", nil, "http://[::ffff:8.8.4.4]/", false},
		{"its public address by NAT64", nil, "http://[64:ff9b::808:404]/", false},
		{"its public IPv6 address", nil, "http://[2600:9000::7]:8080/", false},
		{"a name that only begins like it", nil, "https://weir-1.example.org/", true},
		{"another public address", nil, "http://8.8.8.8/", true},
		{"its name, with loopback opened", []string{"loopback"}, "http://weir-1:8080/", true},
		{"its name, with another port opened", []string{"127.0.0.1:9000"}, "http://weir-1:8080/", false},
		{"its public address, opened", []string{"8.8.4.4:8080"}, "http://8.8.4.4:8080/", true},
		{"its name, with that address opened", []string{"8.8.4.4:8080"}, "http://weir-1:8080/", true},
	} {
		g := New(Policy{Allow: allow(t, tt.allow...)})
		g.rules.self = machine()
		_, err := g.CheckURL("url", tt.url)
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "this machine") && !strings.Contains(err.Error(), "NAT64") {
			t.Errorf("%s: CheckURL(%s) = %v, want allowed: %v", tt.name, tt.url, err, tt.ok)
		}
	}
}

func TestANameThatLeadsToTheMachineIsNotConnected(t *testing.T) {
	g := New(Policy{})
	g.rules.self = machine()
	if err := g.check("elsewhere.test:443", "tcp4", "8.8.4.4:443"); err == nil {
		t.Error("a connection to the machine's own public address is allowed")
	}
	if err := g.check("elsewhere.test:443", "tcp4", "8.8.8.8:443"); err != nil {
		t.Errorf("a connection to another public address is refused: %v", err)
	}
}

func TestTheSystemKnowsItsNameAndAddresses(t *testing.T) {
	if self := thisMachine(); len(self.Names()) == 0 || !self.has(netip.MustParseAddr("127.0.0.1")) || !self.is(self.Names()[0]+".") {
		t.Errorf("this machine is called %v and has %v", self.Names(), self.Addresses())
	}
}
