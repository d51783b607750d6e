package recall

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// recent is what this process has submitted lately, and what it knows of who holds it.
type recent struct {
	mu    sync.Mutex
	sent  []*sent        // oldest first
	bytes int64          // of all blocks that are kept, those of submits under way too
	lives map[int]string // partition -> the newest incarnation that is known
	lost  []error
}

// sent is one submit, stage or command that was acknowledged.
type sent struct {
	partition int
	at        time.Time
	created   *partition.Created // nil: it is a stage or a command
	stage     weir.BulkID        // name of items that were set aside; empty: it is none
	claim     store.Claim
	kept      *Kept
	command   *partition.Command // nil: it is none
	life      string             // the incarnation in which all of it is known to be there
}

// Kept holds the blocks of one submit, as long as there is room for them. Nil keeps nothing.
type Kept struct {
	of     *recent
	blocks map[uint32][]byte // nil: there was no room
	bytes  int64
	life   string // the incarnation before the first was written
}

// Keep takes a copy of a block that is about to be written.
func (k *Kept) Keep(no uint32, sealed []byte) {
	if k != nil {
		k.of.keep(k, no, sealed)
	}
}

// Drop forgets the blocks of a submit that was not accepted.
func (k *Kept) Drop() {
	if k != nil {
		k.of.drop(k)
	}
}

// begin is called for each submit, before its first block is written.
func (r *recent) begin(no int) *Kept {
	return &Kept{of: r, blocks: map[uint32][]byte{}, life: r.life(no)}
}

// keep takes a copy of a block. The oldest submits give way to new ones.
func (r *recent) keep(k *Kept, no uint32, sealed []byte) {
	sealed = bytes.Clone(sealed)
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.blocks == nil {
		return
	}
	k.blocks[no] = sealed
	k.bytes += int64(len(sealed))
	r.bytes += int64(len(sealed))
	for i := 0; i < len(r.sent) && r.bytes > rememberBytes; i++ {
		r.forget(r.sent[i].kept)
	}
	if r.bytes > rememberBytes {
		r.forget(k)
	}
}

// forget gives up the blocks of a submit. The caller holds the lock.
func (r *recent) forget(k *Kept) {
	if k != nil {
		r.bytes -= k.bytes
		k.blocks, k.bytes = nil, 0
	}
}

// drop forgets a submit that was not accepted.
func (r *recent) drop(k *Kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(k)
}

// mostSent bounds how many submits and commands are remembered.
const mostSent = 1 << 16

// add remembers what was acknowledged. It is no longer looked after when Run
// has ended, so what is far too old goes here as well.
func (r *recent) add(s *sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(r.sent) && (len(r.sent)-n >= mostSent || s.at.Sub(r.sent[n].at) > 6*rememberFor) {
		r.forget(r.sent[n].kept)
		n++
	}
	clear(r.sent[:n])
	r.sent = append(r.sent[n:], s)
}

// partitions are those in which something is recent.
func (r *recent) partitions() map[int]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[int]bool{}
	for _, s := range r.sent {
		found[s.partition] = true
	}
	return found
}

// doubtful lists what was sent to a partition in another incarnation, oldest first.
func (r *recent) doubtful(no int, life string) (list []*sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meet(no, life)
	for _, s := range r.sent {
		if s.partition == no && s.life != life {
			list = append(list, s)
		}
	}
	return list
}

// settle notes that something is there in an incarnation.
func (r *recent) settle(s *sent, life string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.life = life
}

// unstage forgets items that were set aside and are dropped.
func (r *recent) unstage(name weir.BulkID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = slices.DeleteFunc(r.sent, func(s *sent) bool {
		if s.stage != name {
			return false
		}
		r.forget(s.kept)
		return true
	})
}

// stages lists the stages whose blocks a bulk action has adopted.
func (r *recent) stages(c *partition.Created) (list []*sent) {
	if len(c.Places) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sent {
		if s.stage != "" && c.Adopts(s.stage) {
			list = append(list, s)
		}
	}
	return list
}

// blocks returns the blocks of a submit, nil if they were too many.
func (r *recent) blocks(s *sent) map[uint32][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.kept.blocks // never changes any more, but for being forgotten as a whole
}

// expire forgets what was sent to partitions before a moment.
func (r *recent) expire(partitions map[int]bool, before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = slices.DeleteFunc(r.sent, func(s *sent) bool {
		if !partitions[s.partition] || !s.at.Before(before) {
			return false
		}
		r.forget(s.kept)
		return true
	})
}

// life is the newest incarnation of a partition that is known, "" if none is. What
// is sent after asking was sent in that one or a later one.
func (r *recent) life(no int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lives[no]
}

// meet notes an incarnation. The caller holds the lock.
func (r *recent) meet(no int, life string) {
	if r.lives == nil {
		r.lives = map[int]string{}
	}
	r.lives[no] = life
}

func (r *recent) lose(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = append(r.lost, err)
}

// losses joins what is lost for good.
func (r *recent) losses() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.lost...)
}
