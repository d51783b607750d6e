package access

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/service/records"
)

const (
	// rosterRest is the shortest time between two reads of all keys, and rosterShare how much longer than the read it is.
	rosterRest  = time.Second
	rosterShare = 20
	// rosterWithin bounds a read.
	rosterWithin = 10 * time.Second
)

// roster tells right keys from wrong ones for callers whose address sent many wrong ones: it reads all keys at once, now
// and then, instead of one for each attempt. So wrong keys cost next to nothing, and right ones are accepted whoever
// else shares their address. A key that another node created since the last read counts as wrong until the next.
type roster struct {
	table *records.Table[storedKey]

	mu     sync.Mutex // also held while the keys are read: who needs them waits
	hashes map[string]hash
	next   time.Time // when they may be read again
}

// add adds a key that this node created.
func (r *roster) add(id string, h hash) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hashes != nil {
		r.hashes[id] = h
	}
}

// right reports whether a key has this text, as far as is known. Errors are those of the store.
func (r *roster) right(ctx context.Context, id string, shown hash) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.hashes[id]; ok && h.equal(shown.sum[:]) {
		return true, nil
	}
	if time.Now().Before(r.next) {
		return false, nil
	}
	if err := r.read(ctx); err != nil {
		return false, err
	}
	h, ok := r.hashes[id]
	return ok && h.equal(shown.sum[:]), nil
}

// read reads all keys; r.mu is held. A damaged record does not keep the others out.
func (r *roster) read(ctx context.Context) error {
	began := time.Now()
	defer func() {
		r.next = time.Now().Add(max(rosterRest, rosterShare*time.Since(began)))
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rosterWithin) // it is read for the others, too
	defer cancel()
	hashes := map[string]hash{}
	for e, err := range r.table.All(ctx, "") {
		if err != nil && e.Name == "" {
			return err
		}
		if err == nil && !e.Value.dead(began) && len(e.Value.Hash) == len(hash{}.sum) {
			hashes[e.Name] = hash{sum: [len(hash{}.sum)]byte(e.Value.Hash)}
		}
	}
	r.hashes = hashes
	return nil
}
