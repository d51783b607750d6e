package redisstore

// Shared returns true: several processes can use the store at once.
func (s *Store) Shared() bool { return true }

// Shared returns true: several processes can use the stores at once.
func (s *Spread) Shared() bool { return true }
