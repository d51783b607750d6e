package callback

import (
	"sync"
	"time"
)

// cache holds the registered endpoints for a moment, so that many events at once do not each list
// them.
type cache struct {
	mu        sync.Mutex
	endpoints []Endpoint
	until     time.Time
	turn      int // grows with every forget, so that a list begun before it is not kept
}

func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
	c.turn++
}

func (c *cache) held(now time.Time) (endpoints []Endpoint, fresh bool, turn int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoints, now.Before(c.until), c.turn
}

func (c *cache) keep(endpoints []Endpoint, until time.Time, turn int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == turn {
		c.endpoints, c.until = endpoints, until
	}
}
