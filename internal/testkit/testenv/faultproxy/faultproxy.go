// Package faultproxy simulates a bad network between a client and a real server.
//
// A [Proxy] listens on a free loopback port and forwards to the server. A [Faults] describes
// what goes wrong and can be replaced at any time, with immediate effect on existing
// connections. Everything ends with the test.
package faultproxy

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is a set of ways through the proxy.
type Direction uint8

// The two ways. Both are Up|Down.
const (
	Up   Direction = 1 << iota // from the client to the server
	Down                       // from the server to the client
)

// Faults describes the network. The zero value is a good network.
type Faults struct {
	// Latency is added to each way; what is sent together still arrives together.
	Latency time.Duration
	// Jitter is the most that is added to Latency, at random. Order is kept.
	Jitter time.Duration
	// Drop loses all that goes these ways, a close included, while the connection
	// stays. A connection that has lost something is of no use afterwards, so
	// it is reset when the way is good again.
	Drop Direction
	// Stall freezes connections and accepts new ones without forwarding
	// anything. All that was held up, closes included, goes on afterwards.
	Stall bool
}

// Proxy forwards to one server.
type Proxy struct {
	// Addr is its address, as host:port.
	Addr string

	listen *net.TCPListener
	end    context.Context // of the proxy
	wg     sync.WaitGroup

	mu      sync.Mutex
	server  string
	faults  Faults
	changed chan struct{} // closed when faults is replaced
	links   map[*link]struct{}
}

// New starts a proxy in front of the server at an address.
func New(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &Proxy{
		Addr: l.Addr().String(), server: server, listen: l.(*net.TCPListener), end: end,
		changed: make(chan struct{}), links: map[*link]struct{}{},
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		stop()
		_ = p.listen.Close()
		p.Reset()
		p.wg.Wait()
	})
	return p
}

// Set replaces the faults.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
	for l := range p.links {
		if l.lost&^f.Drop != 0 {
			l.reset()
		}
	}
}

// Heal ends all faults.
func (p *Proxy) Heal() { p.Set(Faults{}) }

// Reset cuts every connection now, like a peer that has forgotten them.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Redirect forwards to another server from now on, and cuts the connections to the former one.
func (p *Proxy) Redirect(server string) {
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	p.Reset()
}

// target returns the server to forward to.
func (p *Proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

// now returns the current faults, and a channel that is closed when they are replaced.
func (p *Proxy) now() (Faults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

func (p *Proxy) accept() {
	for {
		c, err := p.listen.AcceptTCP()
		if err != nil {
			return // closed
		}
		l := p.admit(c)
		p.wg.Go(func() {
			l.run()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.links, l)
		})
	}
}

// admit returns a link for a client. At the end of the proxy it is reset at once.
func (p *Proxy) admit(c *net.TCPConn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &link{proxy: p, client: c, over: make(chan struct{})}
	p.links[l] = struct{}{}
	if p.end.Err() != nil {
		l.reset()
	}
	return l
}
