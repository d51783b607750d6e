package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a child process.
type process struct {
	name    string
	cmd     *exec.Cmd
	address string // of a server
	dir     string // to remove
}

// startNode runs this same program as a node.
func startNode(ctx context.Context, name, redis string, out io.Writer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: exec.CommandContext(ctx, self, "-node", name, "-redis", redis)}
	p.cmd.Stdout, p.cmd.Stderr = out, os.Stderr
	return p, p.cmd.Start()
}

// startRedis runs a redis-server with a log that it writes to disk every second.
func startRedis(ctx context.Context) (*process, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: install it (Debian: apt-get install redis-server), or name a running one with -redis host:port", err)
	}
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address) // it is one of ours
	_ = free.Close()                         // only its number was wanted
	dir, err := os.MkdirTemp("", "weir-cluster")
	if err != nil {
		return nil, err
	}
	p := &process{name: "redis-server", address: address, dir: dir}
	p.cmd = exec.CommandContext(ctx, path, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "",
		"--appendonly", "yes", "--logfile", dir+"/log")
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			return p, c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.stop()
	return nil, fmt.Errorf("redis-server does not answer on %s", address)
}

// stop ends the process cleanly, if it has not ended.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	_ = p.cmd.Wait()                          // how it ended is of no matter
	if p.dir != "" {
		_ = os.RemoveAll(p.dir) // it is in the folder for such things
	}
}

// kill ends the process without giving it time for anything.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it runs
	_ = p.cmd.Wait()         // a killed process always ends with an error
}
