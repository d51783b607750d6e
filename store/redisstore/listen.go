package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// listener waits for messages of all partitions that are read on this server, with one command
// on one connection. On a Cluster a command cannot wait for streams of different slots: there
// each read waits for itself.
type listener struct {
	mu      sync.Mutex
	streams map[string]*stream // by key
	running bool
	closed  bool
	end     context.CancelFunc // ends the command that waits; nil: none does
	ending  bool               // it will be ended in a moment
}

// stream is one inbox. It stays in the command for a while when no call reads it, since the
// next call commonly reads on from there.
type stream struct {
	after uint64 // messages after this one are waited for
	waits bool   // by the command that runs
	old   bool   // nothing has read it since the last round
	reads []*reading
}

// reading is a call that waits for messages.
type reading struct {
	after uint64
	heard chan heard // holds one
}

type heard struct {
	entries []rueidis.XRangeEntry
	err     error
}

const (
	// listenMost bounds the messages of one inbox that one command returns. A call reads the others itself.
	listenMost = 64
	// gatherFor is how long a command goes on when another inbox is to be waited for: commonly more follow.
	gatherFor = 500 * time.Microsecond
)

// watched reports whether the command that runs will return as soon as there is a message after this one.
func (l *listener) watched(inbox string, after uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.streams[inbox]
	return in != nil && in.waits && in.after <= after
}

// next returns messages of an inbox after one, when there are some.
func (l *listener) next(ctx context.Context, s *Store, inbox string, after uint64) ([]rueidis.XRangeEntry, error) {
	r := &reading{after, make(chan heard, 1)}
	l.join(s, inbox, r)
	select {
	case h := <-r.heard:
		return h.entries, h.err
	case <-ctx.Done():
		l.leave(inbox, r)
		return nil, ctx.Err()
	case <-s.life.Done():
		l.leave(inbox, r)
		return nil, s.life.Err()
	}
}

// join adds a call to those that wait.
func (l *listener) join(s *Store, inbox string, r *reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // life has ended
	}
	in := l.streams[inbox]
	if in == nil {
		in = &stream{after: r.after}
		l.streams[inbox] = in
	}
	if !in.waits || r.after < in.after {
		in.after = r.after
		l.again()
	}
	in.reads, in.old = append(in.reads, r), false
	if !l.running {
		l.running = true
		s.done.Go(func() { l.run(s) })
	}
}

// again ends the command that waits, soon: it has to wait for more. The caller holds the lock.
func (l *listener) again() {
	if end := l.end; end != nil && !l.ending {
		l.ending = true
		time.AfterFunc(gatherFor, end)
	}
}

// leave removes a call that waits no more.
func (l *listener) leave(inbox string, r *reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in := l.streams[inbox]; in != nil {
		in.drop(func(x *reading) bool { return x == r })
	}
}

// drop removes the calls that match.
func (in *stream) drop(match func(*reading) bool) {
	kept := in.reads[:0]
	for _, r := range in.reads {
		if !match(r) {
			kept = append(kept, r)
		}
	}
	clear(in.reads[len(kept):])
	in.reads = kept
}

// close lets no further call wait.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// run waits for messages as long as calls do.
func (l *listener) run(s *Store) {
	for {
		ctx, inboxes, ids := l.begin(s)
		if ctx == nil {
			return
		}
		streams, err := s.xread(ctx, listenMost, inboxes, ids)
		l.took(s, streams, err)
	}
}

// begin returns what to wait for, or a nil context if no call waits.
func (l *listener) begin(s *Store) (ctx context.Context, inboxes, ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	some := false
	for key, in := range l.streams { // any order: the answer is by key
		if len(in.reads) == 0 && in.old {
			delete(l.streams, key)
			continue
		}
		in.old, some = len(in.reads) == 0, some || len(in.reads) > 0
		inboxes, ids = append(inboxes, key), append(ids, messageID(in.after))
	}
	if !some || s.life.Err() != nil {
		clear(l.streams)
		l.running = false
		return nil, nil, nil
	}
	for _, in := range l.streams { // the same for each
		in.waits = true
	}
	ctx, l.end = context.WithCancel(s.life)
	l.ending = false
	return ctx, inboxes, ids
}

// took gives the calls what the command returned.
func (l *listener) took(s *Store, streams map[string][]rueidis.XRangeEntry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	l.end = nil
	failed := err != nil && s.life.Err() == nil && !rueidis.IsRedisNil(err) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) // else nothing came in that time
	for key, in := range l.streams { // each for itself
		in.waits = false
		if failed {
			in.give(heard{err: err})
		} else if entries := streams[key]; len(entries) > 0 && !in.hear(entries) {
			delete(l.streams, key) // nothing reads it now
		}
	}
}

// hear gives each call the messages that it waits for, and reports whether there was a call.
func (in *stream) hear(entries []rueidis.XRangeEntry) (read bool) {
	read = len(in.reads) > 0
	last := in.after
	for i, e := range entries {
		seq, ok := sequence(e.ID)
		if !ok { // the reader says what is wrong with it
			in.give(heard{entries: entries[i:]})
			return false
		}
		last = max(last, seq)
	}
	in.drop(func(r *reading) bool {
		for i, e := range entries {
			if seq, _ := sequence(e.ID); seq > r.after {
				r.heard <- heard{entries: entries[i:]}
				return true
			}
		}
		return false
	})
	in.after = last
	return read
}

// give gives all calls the same.
func (in *stream) give(h heard) {
	in.drop(func(r *reading) bool {
		r.heard <- h
		return true
	})
}
