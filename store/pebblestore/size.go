package pebblestore

import "context"

// Size returns the disk space of the store in bytes, as reported by Pebble: tables and logs,
// including those about to be removed, without the ballast.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.gate.leave()
	m := s.db.Metrics()
	size := m.DiskSpaceUsage()
	if m.WAL.Size > m.WAL.PhysicalSize { // the current log counts only once it is full
		size += m.WAL.Size - m.WAL.PhysicalSize
	}
	return int64(size), nil
}
