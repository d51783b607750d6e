// Package clitest has what tests of several commands need: a terminal that remembers, the settings and certificates
// of servers, and texts that attack a terminal.
package clitest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Shot is a terminal that remembers what was written to it.
type Shot struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (s *Shot) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String returns all that was written so far.
func (s *Shot) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Until waits until the terminal shows text.
func (s *Shot) Until(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !strings.Contains(s.String(), text) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%q was never shown, but\n%s", text, s)
		}
	}
}
