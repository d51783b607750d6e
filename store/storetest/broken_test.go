package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

// faulty is a sound store of which a test replaces one method.
type faulty struct {
	store.Store
	commit  func(ctx context.Context, partition int, tok store.Token, b *store.Batch) error
	append  func(ctx context.Context, partition int, body []byte, c store.Claim) error
	read    func(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error)
	many    func(ctx context.Context, partition int, keys [][]byte) ([][]byte, error)
	page    func(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error)
	scan    func(ctx context.Context, partition int, prefix []byte, yield func(k, v []byte) error) error
	put     func(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error
	acquire func(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error)
	release func(ctx context.Context, partition int, tok store.Token) error
	last    func(ctx context.Context, partition int) (store.Last, error)
	tell    func(ctx context.Context, topic string, r store.Record, ttl time.Duration) error
	swap    func(ctx context.Context, name string, old, value []byte) ([]byte, error)
	list    func(ctx context.Context, prefix, after string, limit int) ([]store.Record, error)
	quotas
	close func() error
}

// newFaulty returns one that has no fault yet.
func newFaulty() *faulty {
	s := memstore.New(memstore.Options{})
	return &faulty{
		Store: s, commit: s.Commit, append: s.Append, read: s.Read, many: s.GetMany, scan: s.Scan, page: s.Page,
		put: s.PutBlocks, acquire: s.Acquire, release: s.Release, last: s.Last,
		tell: s.Announce, swap: s.Swap, list: s.List, quotas: quotas{s.Hold, s.Draw, s.SetTargets}, close: s.Close,
	}
}

func (f *faulty) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	return f.commit(ctx, partition, tok, b)
}

func (f *faulty) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	return f.append(ctx, partition, body, c)
}

func (f *faulty) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	return f.read(ctx, partition, after, limit)
}

func (f *faulty) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	return f.many(ctx, partition, keys)
}

func (f *faulty) Scan(ctx context.Context, partition int, prefix []byte, yield func(k, v []byte) error) error {
	return f.scan(ctx, partition, prefix, yield)
}

func (f *faulty) Page(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
	return f.page(ctx, partition, r, limit)
}

func (f *faulty) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	return f.put(ctx, partition, id, first, blocks)
}

func (f *faulty) Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	return f.acquire(ctx, partition, owner, ttl)
}

func (f *faulty) Release(ctx context.Context, partition int, tok store.Token) error {
	return f.release(ctx, partition, tok)
}

func (f *faulty) Last(ctx context.Context, partition int) (store.Last, error) {
	return f.last(ctx, partition)
}

func (f *faulty) Announce(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
	return f.tell(ctx, topic, r, ttl)
}

func (f *faulty) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	return f.swap(ctx, name, old, value)
}

func (f *faulty) List(ctx context.Context, prefix, after string, limit int) ([]store.Record, error) {
	return f.list(ctx, prefix, after, limit)
}

func (f *faulty) Close() error { return f.close() }

// faults are promises broken on purpose, each with the case that must find it.
var faults = []struct {
	name   string
	caught string
	model  bool // the random calls must find it as well
	plant  func(f *faulty)
}{
	{"half of a commit is lost", "a commit sets and deletes rows", true, changed(func(b *store.Batch) {
		b.Set = b.Set[:len(b.Set)/2]
	})},
	{"a delete wins over a set", "a row that is both deleted and set is set", false, changed(func(b *store.Batch) {
		b.Set = slices.DeleteFunc(b.Set, func(r store.Row) bool {
			return slices.ContainsFunc(b.Delete, func(k []byte) bool { return string(k) == string(r.Key) })
		})
	})},
	{
		"an acknowledgement is lost", "an acknowledgement removes messages, and their numbers do not come back", true,
		changed(func(b *store.Batch) { b.Ack = 0 }),
	},
	{"an acknowledgement reaches ahead", "an acknowledgement takes no message that comes after it", false, ackAhead},
	{"any token will do", "a stale token is fenced and writes nothing", true, anyToken},
	{"any number will do", "a gap or a repeat in the numbers is refused", true, func(f *faulty) {
		f.commit = func(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
			last, err := f.Last(ctx, partition)
			c := *b
			c.Number = last.Number + 1
			return errors.Join(err, f.Store.Commit(ctx, partition, tok, &c))
		}
	}},
	{"a claim is not looked at", "of 32 claims at once one wins and the others learn its value", true, func(f *faulty) {
		f.append = func(ctx context.Context, partition int, body []byte, _ store.Claim) error {
			return f.Store.Append(ctx, partition, body, store.Claim{})
		}
	}},
	{"a refused claim leaves its message", "a refused claim writes no message", true, func(f *faulty) {
		f.append = func(ctx context.Context, partition int, body []byte, c store.Claim) error {
			err := f.Store.Append(ctx, partition, body, c)
			if errors.Is(err, store.ErrClaimed) {
				return errors.Join(err, f.Store.Append(ctx, partition, body, store.Claim{}))
			}
			return err
		}
	}},
	{"the newest message comes first", "messages come in order with rising numbers", true, func(f *faulty) {
		f.read = func(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
			m, err := f.Store.Read(ctx, partition, after, limit)
			slices.Reverse(m)
			return m, err
		}
	}},
	{"rows that do not exist are left out", "many rows come as they were asked for, and those that do not exist are nil", true, func(f *faulty) {
		f.many = func(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
			values, err := f.Store.GetMany(ctx, partition, keys)
			return slices.DeleteFunc(values, func(v []byte) bool { return v == nil }), err
		}
	}},
	{"rows come backwards", "scan goes in order of keys and keeps to the prefix", true, func(f *faulty) {
		f.scan = func(ctx context.Context, partition int, prefix []byte, yield func(k, v []byte) error) error {
			var rows []store.Row
			err := f.Store.Scan(ctx, partition, prefix, func(k, v []byte) error {
				rows = append(rows, store.Row{Key: k, Value: v})
				return nil
			})
			for _, r := range slices.Backward(rows) {
				err = errors.Join(err, yield(r.Key, r.Value))
			}
			return err
		}
	}},
	{"a page begins at the least key always", "a page has the first rows of a range, in both directions", true, func(f *faulty) {
		f.page = func(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
			r.Back = false
			return f.Store.Page(ctx, partition, r, limit)
		}
	}},
	{"a page goes on with the row that it was to leave out", "a page has the first rows of a range, in both directions", true, func(f *faulty) {
		f.page = func(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
			if r.Before != nil {
				r.Before = append(r.Before, 0)
			}
			return f.Store.Page(ctx, partition, r, limit)
		}
	}},
	{"blocks begin at 0 always", "a block comes back as it was written", true, func(f *faulty) {
		f.put = func(ctx context.Context, partition int, id weir.BulkID, _ uint32, blocks [][]byte) error {
			return f.Store.PutBlocks(ctx, partition, id, 0, blocks)
		}
	}},
	{"all owners are one", "a lease is exclusive", true, func(f *faulty) {
		f.acquire = func(ctx context.Context, partition int, _ string, ttl time.Duration) (store.Token, error) {
			return f.Store.Acquire(ctx, partition, "all", ttl)
		}
	}},
	{"a lease is kept for ever", "a released lease is free at once", false, func(f *faulty) {
		f.release = func(context.Context, int, store.Token) error { return nil }
	}},
	{"a closed store goes on", "a closed store says so", false, func(f *faulty) {
		f.close = func() error { return nil }
	}},
	{"the token of a commit is forgotten", "the last commit is known with the token that made it", false, func(f *faulty) {
		f.last = func(ctx context.Context, partition int) (store.Last, error) {
			l, err := f.Store.Last(ctx, partition)
			return store.Last{Number: l.Number}, err
		}
	}},
	{"topics are one", "topics are apart", false, told(func(topic *string, _ *time.Duration) { *topic = "nodes" })},
	{"an announcement stays", "a ttl of 0 removes a record, also one that is not there", false, told(func(_ *string, ttl *time.Duration) {
		*ttl = max(*ttl, time.Hour)
	})},
	{"a swap does not look", "of 16 swaps at once one wins", false, blindSwap},
	{"a swap does not look when it removes", "a swap by who saw something else returns what is there", true, blindRemoval},
	{"nothing can be removed", "a swap with nothing removes a record, and it can be made again", true, noRemoval},
	{"a prefix is looked for anywhere", "a list keeps to its prefix, in byte order", true, listFault(func(all []store.Record, prefix, after string, limit int) []store.Record {
		all = slices.DeleteFunc(all, func(r store.Record) bool { return !strings.Contains(r.Name, prefix) || r.Name <= after })
		return all[:min(limit, len(all))]
	})},
	{"a list begins with the name after which it should", "a list begins after a name and ends at its limit", false, listFault(func(all []store.Record, prefix, after string, limit int) []store.Record {
		all = slices.DeleteFunc(all, func(r store.Record) bool { return !strings.HasPrefix(r.Name, prefix) || r.Name < after })
		return all[:min(limit, len(all))]
	})},
	{"a list is cut", "a long list comes page by page", false, cutList},
	{"a list stops at a record that is gone", "what stays is listed while others come and go", false, stopAtGone},
	{"what a node has used is forgotten", "what one node gains has left another", false, held(func(_ *store.Limit, h *store.Holding, _ *time.Duration) {
		h.Used = 0
	})},
	{"a lowered quota counts before the node obeys", "what one node gains has left another", false, held(func(_ *store.Limit, h *store.Holding, _ *time.Duration) {
		h.Held = 0
	})},
	{"a silent node is forgotten at once", "a silent node's quota is free after its time and a window", false, held(func(_ *store.Limit, _ *store.Holding, ttl *time.Duration) {
		*ttl = min(*ttl, time.Millisecond)
	})},
	{"nothing can be given back", "what is given back is free at once", false, held(func(_ *store.Limit, _ *store.Holding, ttl *time.Duration) {
		*ttl = max(*ttl, time.Second)
	})},
	{"a rate and a concurrency are one", "resources, and the limits of one, are apart", false, func(f *faulty) {
		held(func(l *store.Limit, _ *store.Holding, _ *time.Duration) { l.Window = 0 })(f)
		f.aim = func(ctx context.Context, l store.Limit, epoch uint64, targets map[string]int64) error {
			l.Window = 0
			return f.Store.SetTargets(ctx, l, epoch, targets)
		}
	}},
	{"a quota is what a node asks for", "quotas together are never above the limit", false, held(func(l *store.Limit, _ *store.Holding, _ *time.Duration) {
		l.Units = 1 << 20
	})},
	{"permits are too many", "permits are drawn until nothing is left", false, drawn(func(l *store.Limit) { l.Units *= 2 })},
	{"permits and quotas do not count together", "permits are units that no node holds, and quotas units that no node draws", false, drawn(func(l *store.Limit) {
		l.Resource += "'"
	})},
	{"every leader is the newest", "the targets of an older leader are refused", false, func(f *faulty) {
		f.aim = func(ctx context.Context, l store.Limit, _ uint64, targets map[string]int64) error {
			return f.Store.SetTargets(ctx, l, 1, targets)
		}
	}},
	{crashing, "a lasting record survives", false, func(*faulty) {}},
	{crashing, "a removed record stays removed, and the others are listed", false, func(*faulty) {}},
	{crashing, "a commit survives", false, func(*faulty) {}},
}

// changed plants a fault that changes what is committed.
func changed(change func(*store.Batch)) func(*faulty) {
	return func(f *faulty) {
		f.commit = func(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
			c := *b
			c.Set = slices.Clone(b.Set)
			change(&c)
			return f.Store.Commit(ctx, partition, tok, &c)
		}
	}
}

// told plants a fault that changes what is announced.
func told(change func(topic *string, ttl *time.Duration)) func(*faulty) {
	return func(f *faulty) {
		f.tell = func(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
			change(&topic, &ttl)
			return f.Store.Announce(ctx, topic, r, ttl)
		}
	}
}

func anyToken(f *faulty) {
	var newest atomic.Value
	f.acquire = func(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
		tok, err := f.Store.Acquire(ctx, partition, owner, ttl)
		if err == nil {
			newest.Store(tok)
		}
		return tok, err
	}
	f.commit = func(ctx context.Context, partition int, _ store.Token, b *store.Batch) error {
		return f.Store.Commit(ctx, partition, newest.Load().(store.Token), b)
	}
}

func ackAhead(f *faulty) {
	var acked atomic.Uint64
	f.commit = func(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
		acked.Store(max(acked.Load(), b.Ack))
		return f.Store.Commit(ctx, partition, tok, b)
	}
	f.read = func(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
		m, err := f.Store.Read(ctx, partition, after, limit)
		m = slices.DeleteFunc(m, func(m store.Message) bool { return m.Seq <= acked.Load() })
		if err == nil && len(m) == 0 {
			err = store.ErrNotFound // rather than let the suite wait for it
		}
		return m, err
	}
}

const (
	faultEnv  = "STORETEST_FAULT"
	crashing  = "a crash takes everything"
	modelCase = "random calls agree with the model"
)

// TestSuite runs the suite on a store with the fault that the environment names, and without one on a sound store.
func TestSuite(t *testing.T) {
	fault := os.Getenv(faultEnv)
	b := storetest.Backend{Open: func(*testing.T) store.Store {
		f := newFaulty()
		for _, x := range faults {
			if x.name == fault {
				x.plant(f)
			}
		}
		return f
	}}
	if fault == crashing {
		b.Reopen = func(t *testing.T, _ store.Store) store.Store { return b.Open(t) }
	}
	storetest.RunBackend(t, b)
}

// TestTheSuiteFindsEveryFault runs this program once for each, because a test that fails cannot be called from one that does not.
func TestTheSuiteFindsEveryFault(t *testing.T) {
	for _, x := range faults {
		t.Run(x.name, func(t *testing.T) {
			cases := []string{x.caught}
			if x.model {
				cases = append(cases, modelCase)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=30s", "-rapid.nofailfile", "-rapid.shrinktime=0s",
				"-test.run=^TestSuite$/^("+strings.Join(cases, "|")+")$")
			cmd.Env = append(os.Environ(), faultEnv+"="+x.name)
			out, _ := cmd.CombinedOutput() // that it failed is in there
			for _, c := range cases {
				if !strings.Contains(string(out), "--- FAIL: TestSuite/"+strings.ReplaceAll(c, " ", "_")) {
					t.Errorf("the case %q did not fail:\n%s", c, out)
				}
			}
		})
	}
}
