package faultproxy

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	queued   = 1024            // pieces on their way, each way, before the sender has to wait
	pieceMax = 32 << 10        // bytes of a piece
	dialIn   = 5 * time.Second // until a server that does not answer is given up
)

// link is one connection of a client and the one to the server that belongs to it.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn // nil until it is made
	lost   Direction    // ways on which something was dropped
	over   chan struct{}
	once   sync.Once
}

// piece is some bytes on their way, or with none the end of them.
type piece struct {
	bytes []byte
	due   time.Time
}

// run forwards until both ways have ended.
func (l *link) run() {
	defer l.reset()
	if !l.connect() {
		return
	}
	var wg sync.WaitGroup
	for _, way := range []struct {
		dir      Direction
		dst, src *net.TCPConn
	}{{Up, l.server, l.client}, {Down, l.client, l.server}} {
		queue := make(chan piece, queued)
		wg.Go(func() { l.read(way.src, queue) })
		wg.Go(func() { l.write(way.dst, way.dir, queue) })
	}
	wg.Wait()
}

// connect reaches the server, once nothing holds the link up.
func (l *link) connect() bool {
	if _, ok := l.clear(time.Time{}); !ok {
		return false
	}
	d := net.Dialer{Timeout: dialIn}
	c, err := d.DialContext(l.proxy.end, "tcp", l.proxy.target())
	if err != nil {
		return false
	}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.server = c.(*net.TCPConn)
	select {
	case <-l.over: // reset meanwhile, when there was only one half
		abort(l.server)
		return false
	default:
		return true
	}
}

// reset cuts both halves. A caller that may run concurrently with connect must hold the proxy's
// lock.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.over)
		abort(l.client)
		if l.server != nil {
			abort(l.server)
		}
	})
}

func abort(c *net.TCPConn) {
	_ = c.SetLinger(0) // a reset instead of a goodbye
	_ = c.Close()
}

// read takes what comes and says when it is due on the other side.
func (l *link) read(src *net.TCPConn, queue chan<- piece) {
	defer close(queue)
	buf := make([]byte, pieceMax)
	for {
		n, err := src.Read(buf)
		if n > 0 && !l.put(queue, piece{append([]byte(nil), buf[:n]...), l.due()}) {
			return
		}
		if err != nil {
			l.put(queue, piece{due: l.due()})
			return
		}
	}
}

// due draws when a piece that was read now arrives.
func (l *link) due() time.Time {
	f, _ := l.proxy.now()
	d := f.Latency
	if f.Jitter > 0 {
		d += time.Duration(rand.Int64N(int64(f.Jitter) + 1))
	}
	return time.Now().Add(d)
}

func (l *link) put(queue chan<- piece, p piece) bool {
	select {
	case queue <- p:
		return true
	case <-l.over:
		return false
	}
}

// write passes on what is due. A link of which one half is broken is cut; one
// way that has ended orderly leaves the other open.
func (l *link) write(dst *net.TCPConn, dir Direction, queue <-chan piece) {
	for p := range queue {
		f, ok := l.clear(p.due)
		switch {
		case !ok:
			return
		case l.drops(f, dir):
			continue
		case p.bytes == nil:
			_ = dst.CloseWrite() // if it is gone already, its reader knows
			return
		}
		if _, err := dst.Write(p.bytes); err != nil {
			l.cut()
			return
		}
	}
	<-l.over // its end was lost too, so it cannot be passed on
}

// drops reports whether what comes now is lost, and remembers it.
func (l *link) drops(f Faults, dir Direction) bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if f.Drop&dir != 0 {
		l.lost |= dir
	}
	return l.lost&dir != 0
}

func (l *link) cut() {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	l.reset()
}

// clear waits until a time has come and nothing is stalled. It returns the
// faults of then; false means that the link is over.
func (l *link) clear(due time.Time) (Faults, bool) {
	for {
		f, changed := l.proxy.now()
		wait := time.Until(due)
		if !f.Stall && wait <= 0 {
			return f, true
		}
		var come <-chan time.Time
		if !f.Stall {
			come = time.After(wait)
		}
		select {
		case <-come:
		case <-changed:
		case <-l.over:
			return f, false
		}
	}
}
