package memstore

import (
	"context"
	"sync"
)

// registry holds the lasting records.
type registry struct {
	mu      sync.Mutex
	lasting map[string][]byte
	names   []string // in order
}

// registered returns the registry, locked, or the reason why the call must not continue.
func (s *Store) registered(ctx context.Context) (*registry, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	s.registry.mu.Lock()
	return &s.registry, nil
}
