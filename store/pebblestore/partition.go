package pebblestore

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// partition holds the state of one partition in memory, apart from its rows.
type partition struct {
	no int

	// mu orders the partition's writes: it is held while a batch goes into the log, but not
	// while waiting for the disk.
	mu     sync.Mutex
	number uint64      // of the last commit
	by     store.Token // that made it
	acked  uint64      // inbox messages up to here are gone
	last   uint64      // sequence number of the newest message
	open   uint64      // the first generation whose claims are accepted
	recent recent      // the newest messages
	token  store.Token // newest granted; Nonce 0: none is valid
	owner  string
	until  time.Time     // when the lease runs out
	wake   chan struct{} // closed when a message can be read; nil while no call waits

	// What has been acknowledged: see watermark.go. Both only rise.
	durableNumber, durableSeq atomic.Uint64
}

// partition returns the state of a partition, read from the disk the first time.
func (s *Store) partition(no int) (*partition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.partitions[no]; p != nil {
		return p, nil
	}
	p, err := s.load(no)
	if err != nil {
		return nil, err
	}
	s.partitions[no] = p
	return p, nil
}

func (s *Store) load(no int) (*partition, error) {
	p := &partition{no: no}
	var err error
	if err := s.loadMeta(p); err != nil {
		return nil, err
	}
	if p.token.Epoch, p.token.Nonce, err = s.pair(kindLease, no); err != nil {
		return nil, err
	}
	newest, err := s.newest(no)
	if err != nil {
		return nil, err
	}
	if p.open, err = s.claimsFrom(no); err != nil {
		return nil, err
	}
	p.last = max(p.acked, newest)
	p.durableNumber.Store(p.number)
	p.durableSeq.Store(p.last)
	return p, nil
}

func (s *Store) loadMeta(p *partition) error {
	v, err := s.get(prefix(kindMeta, p.no))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.number, p.acked, p.by, err = decodeMeta(v)
	return err
}

func (s *Store) pair(kind byte, no int) (a, b uint64, err error) {
	v, err := s.get(prefix(kind, no))
	if errors.Is(err, store.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	return decodePair(v)
}

// newest returns the sequence number of the newest message that was not removed, or 0.
func (s *Store) newest(no int) (uint64, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: inboxKey(no, 0),
		UpperBound: inboxKey(no, math.MaxUint64),
	})
	if err != nil {
		return 0, readError(err)
	}
	var seq uint64
	if it.Last() {
		seq = seqOf(it.Key())
	}
	return seq, readErrorOrNil(it.Close())
}

// raise sets a to v unless it is already higher.
func raise(a *atomic.Uint64, v uint64) {
	for old := a.Load(); v > old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}
