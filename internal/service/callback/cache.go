package callback

import (
	"context"
	"log/slog"
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

// registered lists all endpoints.
func (n *Notifier) registered(ctx context.Context) ([]Endpoint, error) {
	endpoints, fresh, turn := n.cache.held(time.Now())
	if fresh {
		return endpoints, nil
	}
	endpoints = nil
	for e, err := range n.webhooks.All(ctx, "") {
		if err != nil && e.Name == "" {
			return nil, err
		}
		if err != nil { // one damaged endpoint must not affect the others
			n.opts.Logger.LogAttrs(ctx, slog.LevelError, "cannot read an endpoint", slog.Any("error", err))
			continue
		}
		endpoints = append(endpoints, e.Value.Endpoint)
	}
	n.cache.keep(endpoints, time.Now().Add(cacheFor), turn)
	return endpoints, nil
}
