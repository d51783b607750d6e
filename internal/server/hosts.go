package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// hosts are the names and addresses that a server answers to.
//
// A web page can make its own name resolve to the address of this server (DNS
// rebinding). The browser then treats the server as part of the page, and only
// the name in the header Host shows the difference.
type hosts []string // configured names; "*.example.com" covers the names below, "*" every name

// serves reports whether a request for host is meant for this server. A local
// server accepts the names of loopback and the configured ones. Other servers
// have keys, which a page does not know: they also accept every address, and
// every name unless names are configured.
func (h hosts) serves(host string, local bool) bool {
	name := hostName(host)
	addr, err := netip.ParseAddr(name)
	isAddress := err == nil
	switch {
	case isAddress && addr.Unmap().IsLoopback(), name == "localhost", strings.HasSuffix(name, ".localhost"), h.lists(name):
		return true
	case local:
		return false
	}
	return isAddress || len(h) == 0
}

// lists reports whether a name is among the configured ones.
func (h hosts) lists(name string) bool {
	for _, entry := range h {
		entry = strings.ToLower(strings.TrimSuffix(entry, "."))
		below, wild := strings.CutPrefix(entry, "*")
		if name == entry || entry == "*" || wild && len(name) > len(below) && strings.HasSuffix(name, below) {
			return true
		}
	}
	return false
}

// hostName returns the name or address of a Host header, in lower case, without port, brackets and final dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

type listenerKey struct{}

// withListener notes in the context of requests which address the server listens on.
func withListener(ctx context.Context, at net.Addr) context.Context {
	return context.WithValue(ctx, listenerKey{}, at)
}

// reachable reports whether a request came to an address that other machines reach. Unknown listeners count as local.
func reachable(ctx context.Context) bool {
	at, ok := ctx.Value(listenerKey{}).(*net.TCPAddr)
	return ok && !at.IP.IsLoopback()
}

// checkHost refuses a request that names another host. Behind TLS the browser has compared the name with the certificate.
func (s *Server) checkHost(r *http.Request, v *visit) *problem {
	local := s.opts.Open || !reachable(r.Context()) && r.TLS == nil
	if v.route.anyHost || hosts(s.opts.Hosts).serves(r.Host, local) {
		return nil
	}
	name := shorten(hostName(r.Host))
	return newProblem("unknown_host", fmt.Sprintf("the header Host names %q, which is not a name of this server", name),
		fmt.Sprintf("use localhost or the address of the server, or add %q to the setting allowed_hosts", name))
}
