package egress

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

func TestURLsThatArePassed(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		allow     []string
		want      string
	}{
		{"plain", "https://push.example.com/batch?x=1", nil, "https://push.example.com/batch?x=1"},
		{"http", "http://push.example.com", nil, "http://push.example.com"},
		{"capital letters", "HTTPS://Push.Example.COM/A", nil, "https://push.example.com/A"},
		{"high port", "https://push.example.com:8443/", nil, "https://push.example.com:8443/"},
		{"public address", "https://8.8.8.8/", nil, "https://8.8.8.8/"},
		{"public IPv6", "https://[2606:4700:4700::1111]:8443/", nil, "https://[2606:4700:4700::1111]:8443/"},
		{"underscore", "http://my_service:8080/", nil, "http://my_service:8080/"},
		{"last dot", "https://example.com./", nil, "https://example.com./"},
		{"name of one script", "https://пример.рф/", nil, "https://xn--e1afmkfd.xn--p1ai/"},
		{"word of one script under a Latin top", "https://пример.com/", nil, "https://xn--e1afmkfd.com/"},
		{"look-alikes where all is Cyrillic", "https://сор.рф/", nil, "https://xn--n1aeb.xn--p1ai/"},
		{"umlaut", "https://bücher.example/", nil, "https://xn--bcher-kva.example/"},
		{"Japanese mixes scripts", "https://xn--eckwd4c7cu47r2wf.jp/", nil, "https://xn--eckwd4c7cu47r2wf.jp/"},
		{"opened address", "http://10.0.0.5:8080/", []string{"10.0.0.0/8"}, "http://10.0.0.5:8080/"},
		{"opened port of an address", "http://10.0.0.5:22/", []string{"10.0.0.5:22"}, "http://10.0.0.5:22/"},
		{"a port that some address has open", "http://mail.example.com:25/", []string{"10.0.0.5:25"}, "http://mail.example.com:25/"},
		{"opened loopback", "http://localhost:81/", []string{"loopback"}, "http://localhost:81/"},
		{"opened loopback in IPv6", "http://[::1]:81/", []string{"loopback"}, "http://[::1]:81/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, err := New(Policy{Allow: allow(t, tt.allow...)}).CheckURL("url", tt.raw)
			if err != nil || u.String() != tt.want {
				t.Errorf("CheckURL(%q) = %v, %v, want %s", tt.raw, u, err, tt.want)
			}
		})
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, raw, code, want string }{
		{"empty", "", CodeBadURL, "is empty"},
		{"ftp", "ftp://example.com/x", CodeBadURL, `scheme "ftp" is not supported; use http or https`},
		{"file", "file:///etc/passwd", CodeBadURL, `scheme "file"`},
		{"gopher", "gopher://example.com:1/_x", CodeBadURL, `scheme "gopher"`},
		{"no scheme", "example.com/x", CodeBadURL, `scheme ""`},
		{"scheme that forges a line", "a-b+c:x", CodeBadURL, `scheme "a-b+c"`},
		{"no host", "https:///x", CodeBadURL, "has no host"},
		{"opaque", "https:example.com", CodeBadURL, "has no host"},
		{"port without host", "https://:443/", CodeBadURL, "has no host"},
		{"password", "https://user:geheim@example.com/", CodeBadURL, "holds a user name or password"},
		{"user", "https://user@example.com/", CodeBadURL, "holds a user name"},
		{"empty user", "https://@example.com/", CodeBadURL, "holds a user name"},
		{"port 0", "https://example.com:0/", CodeBadURL, "port 0 is not between"},
		{"port 22", "https://example.com:22/", CodeBadURL, "port 22 is not allowed: only 80, 443, and 1024 and above are; an operator can allow it with egress.allow"},
		{"port 25 of an address", "https://8.8.8.8:25/", CodeBadURL, "port 25"},
		{"port beyond the last", "https://example.com:65536/", CodeBadURL, "port 65536"},
		{"port that is not a number", "https://example.com:https/", CodeBadURL, "is not a URL"},
		{"port left out", "https://example.com:/", CodeBadURL, `port ""`},
		{"fragment", "https://example.com/#x", CodeBadURL, "has a fragment"},
		{"empty fragment", "https://example.com/#", CodeBadURL, "has a fragment"},
		{"too long", "https://example.com/" + strings.Repeat("x", 2029), CodeBadURL, "has 2049 bytes; at most 2048"},
		{"line break", "https://example.com/\nx", CodeBadURL, "is not a URL"},
		{"blank in host", "https://exa mple.com/", CodeBadURL, "is not a URL"},
		{"backslash", `https://example.com\@127.0.0.1/`, CodeBadURL, "is not a URL"},
		{"broken brackets", "https://[::1/", CodeBadURL, "is not a URL"},
		{"name in brackets", "https://[example.com]/", CodeBadURL, "is not a URL"},
		{"IPv4 in brackets", "https://[127.0.0.1]/", CodeBadURL, "is not a URL"},
		{"empty label", "https://a..b/", CodeBadURL, "not a name that can be looked up"},
		{"full-width @", "https://example.com＠127.0.0.1/", CodeBadURL, "not a name that can be looked up"},
		{"full-width slash", "https://example.com／.evil.example/", CodeBadURL, "not a name that can be looked up"},
		{"long label", "https://" + strings.Repeat("a", 64) + ".com/", CodeBadURL, "not a name that can be looked up"},
		{"broken punycode", "https://xn--a-ecp.ru/", CodeBadURL, "not a name that can be looked up"},
		{"Latin and Cyrillic", "https://xn--pple-43d.com/", CodeBadURL, "xn--pple-43d.com mixes Cyrillic and Latin"},
		{"Latin and Cyrillic, not encoded", "https://аpple.com/", CodeBadURL, "xn--pple-43d.com mixes Cyrillic and Latin"},
		{"Latin and Greek", "https://gοοgle.com/", CodeBadURL, "mixes Greek and Latin"},
		{"all letters from Cyrillic", "https://xn--80ak6aa92e.com/", CodeBadURL, "written in Cyrillic letters that look like Latin"},
		{"private", "http://10.0.0.5/x", CodeNotAllowed, "url: 10.0.0.5 is private; an operator can allow it with egress.allow"},
		{"loopback", "http://127.0.0.1:8080/", CodeNotAllowed, "127.0.0.1 is loopback"},
		{"localhost", "http://localhost:8080/", CodeNotAllowed, "localhost is loopback"},
		{"localhost with a last dot", "http://localhost./", CodeNotAllowed, "localhost. is loopback"},
		{"below localhost", "http://a.LOCALHOST/", CodeNotAllowed, "a.localhost is loopback"},
		{"metadata", "http://169.254.169.254/latest/", CodeNotAllowed, "metadata address"},
		{"link-local", "http://[fe80::1%25eth0]/", CodeNotAllowed, "link-local"},
		{"zero", "http://0.0.0.0/", CodeNotAllowed, "no address"},
		{"just zero", "http://0/", CodeNotAllowed, "0 means 0.0.0.0"},
		{"IPv6 loopback", "http://[::1]/", CodeNotAllowed, "::1 is loopback"},
		{"IPv4 in IPv6", "http://[::ffff:10.0.0.5]/", CodeNotAllowed, "10.0.0.5 is private"},
		{"NAT64", "http://[64:ff9b::a00:5]/", CodeNotAllowed, "stands for 10.0.0.5 (NAT64)"},
		{"decimal", "http://2130706433/", CodeNotAllowed, "2130706433 means 127.0.0.1, and 127.0.0.1 is loopback"},
		{"octal", "http://0177.0.0.1/", CodeNotAllowed, "means 127.0.0.1"},
		{"hexadecimal", "http://0x7f000001/", CodeNotAllowed, "means 127.0.0.1"},
		{"hexadecimal parts", "http://0xA.0x0.0x0.0x5/", CodeNotAllowed, "means 10.0.0.5"},
		{"two parts", "http://127.1/", CodeNotAllowed, "means 127.0.0.1"},
		{"three parts", "http://10.0.5/", CodeNotAllowed, "means 10.0.0.5"},
		{"last dot", "http://127.0.0.1./", CodeNotAllowed, "127.0.0.1 is loopback"},
		{"full-width digits", "http://１２７.０.０.１/", CodeNotAllowed, "127.0.0.1 is loopback"},
		{"circled digits", "http://①②⑦.0.0.①/", CodeNotAllowed, "127.0.0.1 is loopback"},
		{"ideographic dots", "http://127。0。0。1/", CodeNotAllowed, "127.0.0.1 is loopback"},
		{"encoded digits", "http://%31%32%37.0.0.1/", CodeBadURL, "is not a URL"},
		{"public decimal", "http://134744072/", CodeBadURL, "write 8.8.8.8"},
		{"number too large", "http://4294967296/", CodeBadURL, "ends in a number"},
		{"five parts", "http://1.2.3.4.5/", CodeBadURL, "ends in a number"},
		{"bad octal", "http://09.0.0.1/", CodeBadURL, "ends in a number"},
		{"name that ends in a number", "http://example.123/", CodeBadURL, "ends in a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, err := New(Policy{}).CheckURL("url", tt.raw)
			field, ok := errors.AsType[*weir.FieldError](err)
			if !ok {
				t.Fatalf("CheckURL(%q) = %v, %v, want a field error", tt.raw, u, err)
			}
			if field.Code != tt.code || field.Field != "url" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckURL(%q) = %s %v, want %s %q", tt.raw, field.Code, err, tt.code, tt.want)
			}
			if strings.Contains(err.Error(), "geheim") || len(err.Error()) > 300 {
				t.Errorf("CheckURL(%q) repeats too much: %v", tt.raw, err)
			}
		})
	}
}

// A URL that was passed stays passed when it is read again in the form that was returned.
func FuzzCheckedURLsAreStable(f *testing.F) {
	for _, s := range []string{"https://example.com/", "http://１.1", "https://[::1]:80/", "http://bücher.example:8080/x?y", "http://a\u3002b"} {
		f.Add(s)
	}
	g := New(Policy{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := g.CheckURL("url", raw)
		if err != nil {
			return
		}
		again, err := g.CheckURL("url", u.String())
		if len(u.String()) <= 2048 && (err != nil || again.Host != u.Host) {
			t.Errorf("CheckURL(%q) = %s, and that again = %v, %v", raw, u, again, err)
		}
	})
}
