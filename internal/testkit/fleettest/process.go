//go:build unix

package fleettest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer // closing it tells the child to end
	stderr *os.File
	gone   chan struct{} // closed when it has ended
	err    error         // how; set before gone is closed

	mu    sync.Mutex
	said  map[string]string // the last text after each word that it said
	heard chan struct{}     // closed when it says something
}

// envOrder names the variable with the order of a child.
const envOrder = "WEIR_FLEET_ORDER"

// spawn starts this program again, with an order. What it logs goes to a file.
func spawn(o order, log string) (*process, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self), gone: make(chan struct{}), said: map[string]string{},
		heard: make(chan struct{})} // it may outlive any context, until it is killed
	p.cmd.Env = append(os.Environ(), envOrder+"="+string(raw))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stderr, err = os.Create(log); err != nil {
		return nil, err
	}
	p.cmd.Stderr = p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

// listen takes what the child says until it has ended.
func (p *process) listen(out io.Reader) {
	for s := bufio.NewScanner(out); s.Scan(); {
		word, rest, _ := strings.Cut(s.Text(), " ")
		p.mu.Lock()
		p.said[word] = rest
		close(p.heard)
		p.heard = make(chan struct{})
		p.mu.Unlock()
	}
	p.err = errors.Join(p.cmd.Wait(), p.stderr.Close())
	close(p.gone)
}

// last returns the last text after a word that the child said, and whether it ever said it.
func (p *process) last(word string) (rest string, ok bool, heard <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest, ok = p.said[word]
	return rest, ok, p.heard
}

// await waits for a word.
func (p *process) await(word string, within time.Duration) (string, error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		rest, ok, heard := p.last(word)
		if ok {
			return rest, nil
		}
		select {
		case <-heard:
		case <-p.gone:
			return "", fmt.Errorf("it ended before it said %q: %w", word, p.err)
		case <-late.C:
			return "", fmt.Errorf("it did not say %q within %v", word, within)
		}
	}
}

// signal sends a signal to the whole group.
func (p *process) signal(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }

// running reports whether it has not ended.
func (p *process) running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// kill kills the process if it runs, and waits until it is gone.
func (p *process) kill() {
	if p.running() {
		_ = p.signal(syscall.SIGKILL) // it may be gone just now
		<-p.gone
	}
}

// gist returns the essence of a log: its end, without repeated lines, and where a panic or a
// data race begins.
func gist(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 4000
	text, broken := string(raw), ""
	for _, sign := range []string{"WARNING: DATA RACE", "panic: "} {
		if at := strings.Index(text, sign); at >= 0 {
			broken += "\n" + text[at:min(at+most, len(text))]
		}
	}
	said := map[string]int{}
	var kept []string
	for line := range strings.Lines(text) {
		_, after, _ := strings.Cut(line, `msg="`)
		about, _, _ := strings.Cut(after, `"`)
		if said[about]++; about == "" || said[about] <= 3 {
			kept = append(kept, line)
		}
	}
	text = strings.Join(kept, "")
	return text[max(0, len(text)-most):] + broken
}
