package cli

import (
	"fmt"
	"strings"
	"sync"
)

// screen writes messages, and below them a part that is drawn again and again.
// Without a terminal it only writes messages.
type screen struct {
	env   *Env
	paint paint
	mu    sync.Mutex
	drawn int  // lines of the live part
	raw   bool // the terminal does not turn a line feed into a new line
}

func newScreen(env *Env) *screen { return &screen{env: env, paint: paint(!env.NoColour)} }

// live says whether there is a terminal to draw on.
func (s *screen) live() bool { return s.env.Terminal != nil }

// print writes a message for good, above the live part.
func (s *screen) print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	s.erase(&b)
	for _, l := range lines {
		l = s.paint.tame(l)
		if s.live() {
			l = wrap(l, s.env.Terminal.Width())
		}
		b.WriteString(l + "\n")
	}
	s.write(b.String())
}

// draw replaces the live part.
func (s *screen) draw(lines []string) {
	if !s.live() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	wide := s.env.Terminal.Width()
	var b strings.Builder
	b.WriteString("\x1b[?2026h") // the terminal shows it when it is whole
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	for _, l := range lines {
		b.WriteString("\r" + fit(s.paint.tame(l), wide) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	s.drawn = len(lines)
	s.write(b.String())
}

// erase removes the live part.
func (s *screen) erase(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

func (s *screen) write(text string) {
	if s.raw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	fmt.Fprint(s.env.Stderr, text)
}

// Write takes a line of the log.
func (s *screen) Write(line []byte) (int, error) {
	s.print("  " + strings.TrimRight(string(line), "\n"))
	return len(line), nil
}

// keys reads single keys if there are any to be read. The caller calls restore.
func (s *screen) keys() (<-chan byte, func()) {
	if !s.live() || s.env.Terminal.Keys == nil {
		return nil, func() {}
	}
	keys, restore := s.env.Terminal.Keys()
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
