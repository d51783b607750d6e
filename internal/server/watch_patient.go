package server

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// patient is an answer that takes as long as it takes, and is given up when its
// reader takes nothing for a while.
type patient struct {
	w       http.ResponseWriter
	control *http.ResponseController
	most    time.Duration
	held    int // bytes since the last flush

	mu   sync.Mutex
	over error // why nothing more is sent
}

func newPatient(w http.ResponseWriter, most time.Duration) *patient {
	return &patient{w: w, control: http.NewResponseController(w), most: most}
}

var errEnded = errors.New("the answer has ended")

// flushBytes is how many bytes are sent at once.
const flushBytes = 64 << 10

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	if err := p.extend(); err != nil {
		return 0, err
	}
	n, err := p.w.Write(b)
	p.held += n
	if err == nil && p.held >= flushBytes {
		err = p.flush()
	}
	return n, err
}

// flush sends what was written.
func (p *patient) flush() error {
	p.held = 0
	if err := p.extend(); err != nil {
		return err
	}
	return p.control.Flush()
}

// extend gives the reader time for what comes, unless the answer is over.
func (p *patient) extend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over == nil {
		_ = p.control.SetWriteDeadline(time.Now().Add(p.most)) // a connection without deadlines is one of a test
	}
	return p.over
}

// cut has everything fail that is written from now on, also what waits for its reader.
func (p *patient) cut(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over == nil {
		p.over = why
		_ = p.control.SetWriteDeadline(time.Now())
	}
}

// end takes the deadline back: the connection may serve other requests.
func (p *patient) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = errEnded
	_ = p.control.SetWriteDeadline(time.Time{})
}
