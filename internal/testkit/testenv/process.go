package testenv

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	host      = "127.0.0.1"
	upIn      = 20 * time.Second       // until a server that does not answer is a failure
	lookEvery = 5 * time.Millisecond   // while it comes up
	portTries = 5                      // a free port may be taken before the server has it
	answerIn  = 500 * time.Millisecond // of a server that runs
)

// process is a server in a process of its own, which ends with the test.
type process struct {
	// Addr is its address, as host:port. It stays the same over a restart.
	Addr string

	t       testing.TB
	dir     string           // of its log
	command func() *exec.Cmd // that starts it
	ping    func() error     // nil: it answers
	ending  syscall.Signal   // of Kill
	proc    *os.Process
	gone    <-chan struct{} // closed when the process has ended
}

// start starts the server on a free port, after prepare has set it up for that port.
func (p *process) start(prepare func(port string)) {
	p.t.Helper()
	for range portTries {
		port := freePort(p.t)
		p.Addr = net.JoinHostPort(host, port)
		prepare(port)
		if p.launch() {
			p.t.Cleanup(p.Kill)
			return
		}
	}
	p.t.Fatalf("the server does not start; its log: %s", p.log())
}

// launch runs the process and waits until it answers, or reports that it has ended.
func (p *process) launch() bool {
	p.t.Helper()
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close() // the server has a handle of its own
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = log, log
	p.gone = run(p.t, cmd)
	p.proc = cmd.Process
	for deadline := time.Now().Add(upIn); time.Now().Before(deadline); {
		if p.ping() == nil {
			return true
		}
		select {
		case <-p.gone:
			return false
		case <-time.After(lookEvery):
		}
	}
	p.t.Fatalf("the server at %s does not answer; its log: %s", p.Addr, p.log())
	return false
}

// run starts a program and returns a channel that is closed when it has ended. The system ends
// a program together with the thread that started it, so the thread stays.
func run(t testing.TB, cmd *exec.Cmd) <-chan struct{} {
	t.Helper()
	started, gone := make(chan error), make(chan struct{})
	go func() {
		defer close(gone)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("%s does not start: %v (make deps installs it)", cmd.Path, err)
	}
	return gone
}

// Kill ends the server at once, without a farewell to its clients, and waits until it is gone.
// A second call does nothing.
func (p *process) Kill() {
	if err := p.proc.Signal(p.ending); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("kill %s: %v", p.Addr, err)
	}
	<-p.gone
}

// Restart starts a server that was killed, with the data that it left.
func (p *process) Restart() {
	p.t.Helper()
	for range portTries { // another process may have its port for a moment
		if p.launch() {
			return
		}
		<-time.After(answerIn)
	}
	p.t.Fatalf("the server at %s does not come back; its log: %s", p.Addr, p.log())
}

// log returns the end of the server's log.
func (p *process) log() string {
	raw, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-2000):])
}

// lasting returns the test's context without its end: servers are cleaned up later than that.
func lasting(t testing.TB) context.Context { return context.WithoutCancel(t.Context()) }

// freePort returns a port without a listener.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
