package server

import (
	"net"
	"testing"
)

func TestAReachableServerAnswersToEveryNameUntilNamesAreConfigured(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts hosts
		want  map[string]bool
	}{
		{"no names", nil, map[string]bool{"weir.example.com": true, "10.0.0.7:8080": true, "localhost": true, "": true}},
		{"some names", hosts{"weir.example.com"}, map[string]bool{"weir.example.com": true, "10.0.0.7:8080": true, "[2001:db8::1]:80": true, "localhost": true, "evil.test": false, "": false}},
		{"every name", hosts{"*"}, map[string]bool{"evil.test": true}},
	} {
		for host, want := range tt.want {
			if got := tt.hosts.serves(host, false); got != want {
				t.Errorf("%s: Host %q is served: %v, want %v", tt.name, host, got, want)
			}
		}
	}
}

func TestOnlyAListenerBeyondLoopbackIsReachable(t *testing.T) {
	for _, tt := range []struct {
		at   net.Addr
		want bool
	}{
		{&net.TCPAddr{IP: net.IPv4zero}, true},
		{&net.TCPAddr{IP: net.IPv6unspecified}, true},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, true},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, false},
		{&net.TCPAddr{IP: net.IPv6loopback}, false},
		{&net.UnixAddr{Name: "/run/weir"}, false},
	} {
		if got := reachable(withListener(t.Context(), tt.at)); got != tt.want {
			t.Errorf("%v: reachable is %v, want %v", tt.at, got, tt.want)
		}
	}
	if reachable(t.Context()) {
		t.Error("an unknown listener counts as reachable")
	}
}
