package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// subject is a store on which calls are tried. Nothing but the lease is there at first.
type subject struct {
	*redisstore.Store
	partition int
	token     store.Token
}

func newSubject(t *testing.T, o redisstore.Options, partition int) *subject {
	t.Helper()
	o.Mode = redisstore.Memory
	s := open(t, o)
	t.Cleanup(func() { _ = s.Close() })
	tok, err := s.Acquire(t.Context(), partition, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{s, partition, tok}
}

const claimKey = "order-7"

// attempt makes one call.
func (s *subject) attempt(ctx context.Context, call string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	switch call {
	case "Commit":
		return s.Commit(ctx, s.partition, s.token, &store.Batch{Number: 1, Set: rows("k", "v")})
	case "Append":
		return s.Append(ctx, s.partition, []byte("m"), store.Claim{})
	case "Append with a claim":
		return s.Append(ctx, s.partition, []byte("m"), store.Claim{Key: claimKey, Value: []byte("v")})
	case "Renew":
		_, err := s.Renew(ctx, s.partition, s.token, time.Hour)
		return err
	case "PutBlocks":
		return s.PutBlocks(ctx, s.partition, "ba_1", 0, [][]byte{[]byte("b")})
	case "Acquire":
		tok, err := s.Acquire(ctx, s.partition, "a", time.Hour)
		if err == nil {
			s.token = tok
		}
		return err
	case "Read":
		_, err := s.Read(ctx, s.partition, 0, 1)
		return err
	}
	panic("no call " + call)
}

var (
	writes = []string{"Commit", "Append", "Append with a claim", "Renew", "Acquire", "PutBlocks"}
	all    = append(writes[:len(writes):len(writes)], "Read")
)

// wantRefused makes calls, and wants each to be refused with one of the codes.
func (s *subject) wantRefused(t *testing.T, calls []string, codes ...string) {
	t.Helper()
	for _, call := range calls {
		err := s.attempt(t.Context(), call)
		var wait *redisstore.WaitError
		switch {
		case !errors.As(err, &wait) || !slices.Contains(codes, wait.Code):
			t.Errorf("%s = %v, want a *WaitError with %v", call, err, codes)
		case !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrFenced):
			t.Errorf("%s = %v, want it to be ErrUnavailable and nothing else", call, err)
		case errors.Is(err, store.ErrFull) != (wait.Code == "OOM"):
			t.Errorf("%s = %v: is it ErrFull?", call, err)
		}
	}
}

// wantUntouched wants nothing of the refused calls to be there, and then each of them to succeed.
func (s *subject) wantUntouched(t *testing.T, calls []string) {
	t.Helper()
	if last, err := s.Last(t.Context(), s.partition); last != (store.Last{}) || err != nil {
		t.Errorf("Last() = %+v, %v after refused commits, want none", last, err)
	}
	if v, err := s.Claimed(t.Context(), s.partition, claimKey); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Claimed() = %q, %v after refused appends, want ErrNotFound", v, err)
	}
	if ids, err := s.BlockOwners(t.Context(), s.partition); len(ids) != 0 || err != nil {
		t.Errorf("BlockOwners() = %v, %v after refused blocks, want none", ids, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if m, err := s.Read(short, s.partition, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Read() = %v, %v after refused appends, want it to wait", m, err)
	}
	for _, call := range calls { // the token is still the newest, or Commit would be fenced
		if err := s.attempt(t.Context(), call); err != nil {
			t.Errorf("%s afterwards = %v", call, err)
		}
	}
}

func TestAServerThatCannotNowIsAskedAgain(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(*testing.T, *testenv.Server) {
		return func(_ *testing.T, r *testenv.Server) { r.Do("CONFIG", "SET", name, value) }
	}
	for _, tt := range []struct {
		code       string
		refused    []string // calls
		begin, end func(t *testing.T, r *testenv.Server)
	}{
		{"OOM", writes, set("maxmemory", "1"), set("maxmemory", "0")},
		{"NOREPLICAS", writes, set("min-replicas-to-write", "1"), set("min-replicas-to-write", "0")},
		{"READONLY", writes, follow, lead},
		{"MASTERDOWN", []string{"Read"}, func(t *testing.T, r *testenv.Server) {
			r.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			follow(t, r)
		}, lead},
		{"MISCONF", writes, failSave, set("stop-writes-on-bgsave-error", "no")},
		{"BUSY", all, beBusy, func(_ *testing.T, r *testenv.Server) { r.Do("SCRIPT", "KILL") }}, // it ends a moment later
		{"LOADING", all, loadAgain, func(*testing.T, *testenv.Server) {}},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			r := testenv.Redis(t, "save", "3600 1", "dbfilename", "dump", "busy-reply-threshold", "1", "enable-debug-command", "yes", "enable-protected-configs", "yes")
			s := newSubject(t, redisstore.Options{Addresses: []string{r.Addr}}, 0)
			tt.begin(t, r)
			s.wantRefused(t, tt.refused, tt.code)
			tt.end(t, r)
			until(t, "the server can again", func() bool { _, err := r.Try("PING"); return err == nil })
			s.wantUntouched(t, all)
		})
	}
}

// follow makes a server the replica of one that is not there.
func follow(_ *testing.T, r *testenv.Server) { r.Do("REPLICAOF", "127.0.0.1", "1") }

func lead(_ *testing.T, r *testenv.Server) { r.Do("REPLICAOF", "NO", "ONE") }

// failSave has a snapshot fail: its file's name is that of a directory.
func failSave(t *testing.T, r *testenv.Server) {
	r.Do("CONFIG", "SET", "dbfilename", "appendonlydir")
	r.Do("BGSAVE")
	until(t, "the snapshot has failed", func() bool {
		return strings.Contains(r.Do("INFO", "persistence"), "rdb_last_bgsave_status:err")
	})
}

// beBusy has a script run that does not end.
func beBusy(t *testing.T, r *testenv.Server) { occupy(t, r, "BUSY", "EVAL", "while true do end", "0") }

// loadAgain has the server load its data, for a few seconds.
func loadAgain(t *testing.T, r *testenv.Server) {
	r.Do("EVAL", "for i = 1, 2000 do redis.call('SET', 'key-' .. i, string.rep('v', 100)) end return 1", "0")
	r.Do("CONFIG", "SET", "key-load-delay", "2000", "loading-process-events-interval-bytes", "1024")
	occupy(t, r, "LOADING", "DEBUG", "RELOAD")
}

// occupy sends a command that takes its time, and waits until the server answers others with a code.
func occupy(t *testing.T, r *testenv.Server, code string, command ...string) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Try(command...) // it is killed, or its answer comes too late
	}()
	t.Cleanup(func() { <-ended })
	until(t, "the server answers "+code, func() bool {
		_, err := r.Try("PING")
		return err != nil && strings.Contains(err.Error(), code)
	})
}

func TestAClusterThatCannotNowIsAskedAgain(t *testing.T) {
	t.Parallel()
	c := testenv.NewCluster(t)
	home, other := c.Primaries[0], c.Primaries[1]
	o := redisstore.Options{Addresses: c.Addrs()}

	t.Run("TRYAGAIN while a slot moves", func(t *testing.T) {
		s, slot := subjectOn(t, o, home)
		other.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", home.Do("CLUSTER", "MYID"))
		home.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", other.Do("CLUSTER", "MYID"))
		s.wantRefused(t, []string{"Commit"}, "TRYAGAIN")
		settle(home, other, slot)
		s.wantUntouched(t, all)
	})
	t.Run("MOVED or ASK while two nodes point at each other", func(t *testing.T) {
		s, slot := subjectOn(t, o, home)
		home.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", other.Do("CLUSTER", "MYID"))
		s.wantRefused(t, []string{"Append", "Append with a claim", "PutBlocks"}, "MOVED", "ASK")
		settle(home, other, slot)
		s.wantUntouched(t, all)
	})
	t.Run("CLUSTERDOWN without a majority", func(t *testing.T) {
		s, _ := subjectOn(t, o, home)
		gone := []*testenv.Server{c.Primaries[1], c.Primaries[2], c.Replicas[1], c.Replicas[2]}
		for _, n := range gone {
			n.Kill()
		}
		until(t, "the rest has noticed", func() bool { return strings.Contains(home.Do("CLUSTER", "INFO"), "cluster_state:fail") })
		s.wantRefused(t, all, "CLUSTERDOWN")
		for _, n := range gone {
			n.Restart()
		}
		until(t, "the Cluster is well", func() bool { return strings.Contains(home.Do("CLUSTER", "INFO"), "cluster_state:ok") })
		s.wantUntouched(t, all)
	})
}

// subjectOn finds a partition that lives on a server, and the number of its slot.
func subjectOn(t *testing.T, o redisstore.Options, server *testenv.Server) (*subject, string) {
	t.Helper()
	o.Stage = strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:])
	for p := range 100 {
		key := fmt.Sprintf("weir:{%s:p%d}:meta", o.Stage, p)
		if _, err := server.Try("EXISTS", key); err == nil { // else it would redirect
			return newSubject(t, o, p), server.Do("CLUSTER", "KEYSLOT", key)
		}
	}
	t.Fatal("no partition of a hundred lives on the server")
	return nil, ""
}

func settle(home, other *testenv.Server, slot string) {
	home.Do("CLUSTER", "SETSLOT", slot, "STABLE")
	other.Do("CLUSTER", "SETSLOT", slot, "STABLE")
}

func TestAServerThatIsNotThereIsUnavailable(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	s := newSubject(t, redisstore.Options{Addresses: []string{r.Addr}}, 0)
	r.Kill()
	for _, call := range all {
		err := s.attempt(t.Context(), call)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s = %v, want ErrUnavailable", call, err)
		}
	}
	r.Restart()
	s.wantUntouched(t, all)
}
