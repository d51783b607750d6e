package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

const (
	// replicateIn bounds how long the replicas may take to get a write.
	replicateIn = 2 * time.Second
	// waitSlice is the time of one WAIT: between two, the needed number of replicas is checked
	// again.
	waitSlice = 250 * time.Millisecond
)

// LagError reports a write that the primary has but too few replicas have. It comes with
// [store.ErrUnknown]: repeating the write waits for them again.
type LagError struct{ Have, Want int }

// Error states both counts.
func (e *LagError) Error() string {
	return fmt.Sprintf("%d of %d replicas have it", e.Have, e.Want)
}

// Is makes errors.Is(err, store.ErrUnavailable) true: replicas come back.
func (e *LagError) Is(target error) bool { return target == store.ErrUnavailable }

// write sends one command that changes a partition. In mode [Replicated] its
// answer counts only if lag is nil.
func (s *Store) write(ctx context.Context, k *keys, build func(rueidis.Builder) rueidis.Completed) (answer rueidis.RedisResult, lag error) {
	if s.opts.Mode != Replicated {
		return s.client.Do(ctx, build(s.client.B())), nil
	}
	all, lag := s.writeAll(ctx, k, func(b rueidis.Builder) []rueidis.Completed {
		return append(make([]rueidis.Completed, 0, 1+afterWrite), build(b))
	})
	return all[0], lag
}

// writeScript does the same as write for a script.
func (s *Store) writeScript(ctx context.Context, k *keys, sc script, names []string, args ...string) (rueidis.RedisResult, error) {
	answer, lag := s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
		return b.Evalsha().Sha1(sc.sha).Numkeys(int64(len(names))).Key(names...).Arg(args...).Build()
	})
	if e, ok := rueidis.IsRedisErr(answer.Error()); ok && e.IsNoScript() {
		return s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
			return b.Eval().Script(sc.source).Numkeys(int64(len(names))).Key(names...).Arg(args...).Build()
		})
	}
	return answer, lag
}

// afterWrite is the number of commands that may follow those that write.
const afterWrite = 4

// writeAll does the same as write for one or more commands.
func (s *Store) writeAll(ctx context.Context, k *keys,
	build func(rueidis.Builder) []rueidis.Completed) (answers []rueidis.RedisResult, lag error) {
	if s.opts.Mode != Replicated {
		return s.client.DoMulti(ctx, build(s.client.B())...), nil
	}
	// WAIT has no timeout of its own on a dead connection.
	ctx, cancel := context.WithTimeout(ctx, replicateIn+answerIn)
	defer cancel()
	lag = s.client.Dedicated(func(c rueidis.DedicatedClient) error {
		w := waiting{store: s, keys: k, conn: c, need: s.opts.Replicas - int(k.fewer.Load()), disks: s.waitsForDisks.Load()}
		writes := build(c.B())
		n := len(writes)
		// WAIT covers what this very connection has written. A call that wrote nothing, because
		// it is a repeat, must still wait for the write it repeats: so there is always a write
		// just before. A redirect is not followed here, or the count would be that of the wrong
		// server.
		mark := c.B().Set().Key(k.mark).Value("1").Build()
		all := c.DoMulti(ctx, w.ask(append(writes, mark))...)
		answers = all[:n]
		if err := all[n].Error(); err != nil {
			return err
		}
		return w.finish(ctx, all[n+1:])
	})
	if lag != nil {
		s.guard.wake() // perhaps a replica is gone, or the primary
	}
	return answers, lag
}

// waiting is a write on its way to the replicas.
type waiting struct {
	store *Store
	keys  *keys
	conn  rueidis.DedicatedClient
	need  int    // replicas to wait for: the number may turn out to be higher, or lower
	disks bool   // and for their disks
	late  bool   // fewer had it than promised
	asked bool   // the run id was requested
	runID string // of the server at the other end, once known
}

// ask adds the commands that wait. The identity of the server only matters if not all replicas
// are there.
//
// A replica reports what is on its disk once a second, and whenever it is asked for what it
// has, but then as of the moment before. So it is asked twice: by WAIT, and when it has the
// write, by WAITAOF. Without the first the second takes a second.
func (w *waiting) ask(commands []rueidis.Completed) []rueidis.Completed {
	need, slice, b := int64(w.need), waitSlice.Milliseconds(), w.conn.B()
	commands = append(commands, b.Wait().Numreplicas(need).Timeout(slice).Build())
	if w.disks {
		commands = append(commands, b.Waitaof().Numlocal(1).Numreplicas(need).Timeout(slice).Build())
	}
	if w.asked = w.runID == "" && (w.late || w.need < w.store.opts.Replicas); w.asked {
		commands = append(commands, b.Info().Section("server").Build())
	}
	return commands
}

// finish waits until as many replicas have the write as the server needs.
func (w *waiting) finish(ctx context.Context, replies []rueidis.RedisResult) error {
	want := w.store.opts.Replicas
	for deadline := time.Now().Add(replicateIn); ; {
		have, err := w.read(replies)
		if err != nil || have >= want {
			w.keys.fewer.Store(0)
			return err
		}
		w.late = true
		w.store.guard.wake()
		// A lower need must hold for this very server, and after it has the write.
		w.need = w.store.guard.need(w.runID, time.Now())
		w.keys.fewer.Store(int64(want - w.need))
		switch {
		case have >= w.need:
			return nil
		case time.Now().After(deadline):
			return &LagError{Have: max(have, 0), Want: w.need}
		}
		replies = w.conn.DoMulti(ctx, w.ask(nil)...)
	}
}

// read evaluates the answers to ask: how many replicas have the write, on their disks if that
// is required. Below zero: the server's own disk does not have it.
func (w *waiting) read(replies []rueidis.RedisResult) (have int, err error) {
	n, err := replies[0].AsInt64()
	if err == nil && w.disks {
		var on []int64
		if on, err = replies[1].AsIntSlice(); err == nil {
			n = on[1]
			if on[0] == 0 {
				n = -1
			}
		} else if _, answered := rueidis.IsRedisErr(err); answered {
			w.store.waitsForDisks.Store(false) // an older server has been promoted
		}
	}
	if err == nil && w.asked {
		var text string
		text, err = replies[len(replies)-1].ToString()
		_, text, _ = strings.Cut(text, "\nrun_id:")
		w.runID, _, _ = strings.Cut(text, "\r")
	}
	return int(n), err
}
