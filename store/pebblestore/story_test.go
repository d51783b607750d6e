package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// A story is work of which it is known at every moment what was begun and what
// was acknowledged, so that whatever is left after a crash can be judged.
type story struct {
	mu  sync.Mutex
	was ledger
}

// ledger counts the commits and messages of one partition.
type ledger struct {
	commitsBegun, commits uint64
	appendsBegun, appends uint64
}

const storyPartition = 5

// seen returns the ledger as of now.
func (y *story) seen() ledger {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.was
}

func (y *story) note(f func(*ledger)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	f(&y.was)
}

// run does n rounds of submit and commit. It goes on where the store is, and
// ends with the first error.
func (y *story) run(ctx context.Context, s *Store, n int) error {
	tok, err := s.Acquire(ctx, storyPartition, "story", time.Hour)
	if err != nil {
		return err
	}
	for range n {
		if err := y.submit(ctx, s); err != nil {
			return err
		}
		if err := y.commit(ctx, s, tok); err != nil {
			return err
		}
	}
	return nil
}

// submit writes two blocks, of which every third is big enough to fill a memtable, and their message.
func (y *story) submit(ctx context.Context, s *Store) error {
	no := y.seen().appendsBegun + 1
	y.note(func(l *ledger) { l.appendsBegun = no })
	if err := s.PutBlocks(ctx, storyPartition, storyID(no), 0, storyBlocks(no)); err != nil {
		return err
	}
	c := store.Claim{Key: string(storyID(no)), Value: []byte("claimed")}
	if err := s.Append(ctx, storyPartition, []byte(storyID(no)), c); err != nil {
		return err
	}
	y.note(func(l *ledger) { l.appends = no })
	return nil
}

func storyID(no uint64) weir.BulkID { return weir.BulkID(fmt.Sprintf("ba_%d", no)) }

func storyBlocks(no uint64) [][]byte {
	size := 100
	if no%3 == 0 {
		size = 300_000
	}
	return [][]byte{bytes.Repeat([]byte{byte(no)}, size), []byte("the end")}
}

// commit adds a row and changes another.
func (y *story) commit(ctx context.Context, s *Store, tok store.Token) error {
	no := y.seen().commitsBegun + 1
	b := &store.Batch{Number: no, Set: []store.Row{
		{Key: []byte("last"), Value: fmt.Append(nil, no)},
		{Key: fmt.Appendf(nil, "row %06d", no), Value: []byte("there")},
	}}
	y.note(func(l *ledger) { l.commitsBegun = no })
	if err := s.Commit(ctx, storyPartition, tok, b); err != nil {
		return err
	}
	y.note(func(l *ledger) { l.commits = no })
	return nil
}

// judge says what is wrong with what s holds, if by then l was begun and acknowledged.
func (l ledger) judge(ctx context.Context, s *Store) error {
	last, err := s.Last(ctx, storyPartition)
	if err != nil {
		return err
	}
	n := last.Number
	if n < l.commits || n > l.commitsBegun {
		return fmt.Errorf("commit number is %d, but %d were acknowledged and %d begun", n, l.commits, l.commitsBegun)
	}
	if err := judgeRows(ctx, s, n); err != nil {
		return err
	}
	return l.judgeInbox(ctx, s)
}

// judgeRows checks that the state is that of commit n, whole.
func judgeRows(ctx context.Context, s *Store, n uint64) error {
	last, err := s.Get(ctx, storyPartition, []byte("last"))
	if n == 0 {
		if !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("row of a commit that is not there: %q, %w", last, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if string(last) != fmt.Sprint(n) {
		return fmt.Errorf("row last = %s, want %d", last, n)
	}
	var rows uint64
	err = s.Scan(ctx, storyPartition, []byte("row "), func(_, _ []byte) error { rows++; return nil })
	if err == nil && rows != n {
		err = fmt.Errorf("%d rows, want %d", rows, n)
	}
	return err
}

// judgeInbox checks that the messages are there without a gap, each with its claim and its blocks.
func (l ledger) judgeInbox(ctx context.Context, s *Store) error {
	found, err := s.messages(storyPartition, 0, 1<<62, 1<<30)
	if err != nil {
		return err
	}
	if n := uint64(len(found)); n < l.appends || n > l.appendsBegun {
		return fmt.Errorf("%d messages, but %d were acknowledged and %d begun", n, l.appends, l.appendsBegun)
	}
	for i, m := range found {
		no := uint64(i + 1)
		if string(m.Body) != string(storyID(no)) || m.Seq != no {
			return fmt.Errorf("message %d has number %d and says %q", no, m.Seq, m.Body)
		}
		if _, err := s.Claimed(ctx, storyPartition, string(storyID(no))); err != nil {
			return fmt.Errorf("claim %d: %w", no, err)
		}
		for k, want := range storyBlocks(no) {
			got, err := s.GetBlock(ctx, storyPartition, storyID(no), uint32(k))
			if err != nil {
				return fmt.Errorf("block %d of %d: %w", k, no, err)
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("block %d of %d differs", k, no)
			}
		}
	}
	return nil
}
