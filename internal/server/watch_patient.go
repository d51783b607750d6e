package server

import (
	"net/http"
	"time"
)

// patient is an answer that takes as long as it takes, and is given up when its
// reader takes nothing for a while.
type patient struct {
	w       http.ResponseWriter
	control *http.ResponseController
	most    time.Duration
	held    int // bytes since the last flush
}

func newPatient(w http.ResponseWriter, most time.Duration) *patient {
	return &patient{w: w, control: http.NewResponseController(w), most: most}
}

// flushBytes is how many bytes are sent at once.
const flushBytes = 64 << 10

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.most)) // a connection without deadlines is one of a test
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
	_ = p.control.SetWriteDeadline(time.Now().Add(p.most))
	return p.control.Flush()
}

// end takes the deadline back: the connection may serve other requests.
func (p *patient) end() { _ = p.control.SetWriteDeadline(time.Time{}) }
