package redisstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// facts holds what a server reports about itself.
type facts struct {
	version  string
	policy   string // the eviction policy
	appends  bool   // it writes its log
	fsync    string // when the log is on the disk; empty if unknown
	primary  bool
	replicas int      // connected replicas
	at       []string // addresses of the replicas
}

// mode returns the most that a server with these facts can promise by itself.
func (f facts) mode() Mode {
	if f.appends && f.fsync == "always" {
		return Disk
	}
	return Memory
}

// check returns why a server does not suffice for a mode.
func (f facts) check(want Mode, replicas int) error {
	if major, _, _ := strings.Cut(f.version, "."); len(major) == 1 && major < "7" {
		return fmt.Errorf("version %s is too old: use 7.0 or later", f.version)
	}
	if f.policy != "noeviction" {
		return fmt.Errorf("maxmemory-policy is %q, so it may drop work when its memory is full: set it to noeviction", f.policy)
	}
	if want != Memory && f.mode() != Disk {
		return fmt.Errorf("mode %s needs appendonly yes and appendfsync always, this server has %s: change its settings, or "+
			"ask for mode memory, which is what it gives", want, f.log())
	}
	if want == Replicated && f.primary && f.replicas > replicas {
		return fmt.Errorf("%d replicas are connected, %d were promised: any of them may be promoted, so all must be counted",
			f.replicas, replicas)
	}
	return nil
}

// syncs reports whether the server can report what is on its disk and on those of its replicas.
func (f facts) syncs() bool {
	major, rest, _ := strings.Cut(f.version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return a > 7 || a == 7 && b >= 2
}

// log describes the server's log.
func (f facts) log() string {
	switch {
	case !f.appends:
		return "appendonly no"
	case f.fsync == "":
		return "appendonly yes and does not tell its appendfsync"
	}
	return "appendonly yes and appendfsync " + f.fsync
}

// ask reads a server's facts. Hosted servers may forbid CONFIG; INFO has all but one of them.
func ask(ctx context.Context, c rueidis.Client) (facts, error) {
	text, err := c.Do(ctx, c.B().Info().Section("everything").Build()).ToString()
	if err != nil {
		return facts{}, refusal(err)
	}
	info := fields(text)
	f := facts{version: info["redis_version"], policy: info["maxmemory_policy"], appends: info["aof_enabled"] == "1",
		primary: info["role"] == "master"}
	f.replicas, _ = strconv.Atoi(info["connected_slaves"]) // 0 if missing
	f.at = replicaAddresses(info)
	conf, err := c.Do(ctx, c.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap()
	if _, forbidden := rueidis.IsRedisErr(err); err != nil && !forbidden {
		return facts{}, err
	}
	f.fsync = conf["appendfsync"]
	return f, nil
}

// fields reads the lines of INFO.
func fields(text string) map[string]string {
	out := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			out[name] = value
		}
	}
	return out
}

// admit checks the replicas before work starts. Servers may be degraded, as right after a
// failover, but may not promise replicas that do not exist.
func (s *Store) admit(ctx context.Context) error {
	if s.opts.Mode != Replicated {
		return nil
	}
	var refused []error
	for _, seen := range s.guard.judge(ctx, time.Now()) {
		have, want := len(seen.online), s.opts.Replicas
		if have < s.guard.need(seen.runID, time.Now()) || have < want && seen.known < want {
			refused = append(refused, fmt.Errorf("server %s: %d replicas are connected, %d were promised", seen.address, have, want))
		}
	}
	return errors.Join(refused...)
}

// inspectEvery bounds how soon changed settings of a server are noticed.
const inspectEvery = 5 * time.Second

// illness is the result of the last inspection.
type illness struct {
	mu  sync.Mutex
	err error
}

func (i *illness) set(err error) (changed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed = (err == nil) != (i.err == nil)
	i.err = err
	return changed
}

func (i *illness) get() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Health returns nil while the servers keep what was promised, as of the last check. It returns
// a [*DegradedError] while they lack replicas. It never waits.
func (s *Store) Health() error {
	ill := s.ill.get()
	short := s.guard.short()
	if ill == nil {
		return short
	}
	return errors.Join(ill, short)
}

// watch inspects the servers repeatedly: settings can be changed while they run.
func (s *Store) watch() {
	tick := time.NewTicker(inspectEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		err := s.inspect(s.life)
		if s.life.Err() != nil {
			return
		}
		if s.ill.set(err) {
			s.tell(err)
		}
	}
}

func (s *Store) tell(err error) {
	if err != nil {
		s.opts.Logger.LogAttrs(s.life, slog.LevelError, "the servers do not keep what was promised", slog.Any("error", err))
		return
	}
	s.opts.Logger.LogAttrs(s.life, slog.LevelInfo, "the servers keep what was promised again")
}
