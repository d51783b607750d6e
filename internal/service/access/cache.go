package access

import (
	"sync"
	"time"
)

// cacheSize bounds the keys that a node caches.
const cacheSize = 16384

// state says what the cache knows about a key.
type state int

const (
	unknown state = iota // nothing: it may never have been valid
	stale                // its text was right, its record must be read
	fresh                // its text and its record
)

// cache holds keys whose text was right. It never holds an invalid key, so guesses cannot fill it.
type cache struct {
	mu   sync.Mutex
	keys map[string]*remembered // by id
}

type remembered struct {
	hash  hash
	key   *Key      // never changed
	asked time.Time // when its record was requested
	used  time.Time // as recorded, or as being written
}

func newCache() *cache { return &cache{keys: map[string]*remembered{}} }

func (c *cache) get(id string, shown hash, now time.Time) (*Key, state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.keys[id]
	switch {
	case !ok || !r.hash.equal(shown.sum[:]):
		return nil, unknown
	case now.Sub(r.asked) >= freshFor:
		return nil, stale
	}
	return r.key, fresh
}

func (c *cache) put(id string, shown hash, key *Key, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := key.Used
	if r, ok := c.keys[id]; ok && r.used.After(used) {
		used = r.used
	} else if !ok && len(c.keys) >= cacheSize {
		c.makeRoom()
	}
	c.keys[id] = &remembered{shown, key, asked, used}
}

// makeRoom drops any key: a key that is in use is soon back.
func (c *cache) makeRoom() {
	for id := range c.keys {
		delete(c.keys, id)
		return
	}
}

func (c *cache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keys, id)
}

// claimUse reports whether the caller must record that the key was used at now; it returns true to
// one caller a minute.
func (c *cache) claimUse(id string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.keys[id]
	if !ok || now.Sub(r.used) < usedEvery {
		return false
	}
	r.used = now
	return true
}
