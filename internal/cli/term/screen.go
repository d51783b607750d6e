package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Screen writes messages, and below them a part that is drawn again and again.
// Without a terminal it only writes messages.
type Screen struct {
	to       io.Writer
	terminal *Terminal
	Paint    Paint
	mu       sync.Mutex
	drawn    int  // lines of the live part
	raw      bool // the terminal does not turn a line feed into a new line
}

// NewScreen returns a screen on a stream, and on a terminal unless that is nil.
func NewScreen(to io.Writer, t *Terminal, colour bool) *Screen {
	return &Screen{to: to, terminal: t, Paint: Paint(colour)}
}

// Live says whether there is a terminal to draw on.
func (s *Screen) Live() bool { return s.terminal != nil }

// Print writes a message for good, above the live part.
func (s *Screen) Print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	s.erase(&b)
	for _, l := range lines {
		l = s.Paint.Tame(l)
		if s.Live() {
			l = Wrap(l, s.terminal.Width())
		}
		b.WriteString(l + "\n")
	}
	s.write(b.String())
}

// Draw replaces the live part.
func (s *Screen) Draw(lines []string) {
	if !s.Live() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	wide := s.terminal.Width()
	var b strings.Builder
	b.WriteString("\x1b[?2026h") // the terminal shows it when it is whole
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	for _, l := range lines {
		b.WriteString("\r" + Fit(s.Paint.Tame(l), wide) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	s.drawn = len(lines)
	s.write(b.String())
}

// erase removes the live part.
func (s *Screen) erase(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

func (s *Screen) write(text string) {
	if s.raw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	fmt.Fprint(s.to, text)
}

// Write takes a line of the log.
func (s *Screen) Write(line []byte) (int, error) {
	s.Print("  " + strings.TrimRight(string(line), "\n"))
	return len(line), nil
}

// Keys reads single keys if there are any to be read. The caller calls restore.
func (s *Screen) Keys() (<-chan byte, func()) {
	if !s.Live() || s.terminal.Keys == nil {
		return nil, func() {}
	}
	keys, restore := s.terminal.Keys()
	s.mu.Lock()
	s.raw = keys != nil
	s.mu.Unlock()
	return keys, func() {
		restore()
		s.mu.Lock()
		s.raw = false
		s.mu.Unlock()
	}
}
