package pebblestore

import "context"

// Size is how many bytes of the disk the store takes, as Pebble knows: tables and
// logs, those that are about to be removed included, and not the ballast.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.gate.leave()
	m := s.db.Metrics()
	size := m.DiskSpaceUsage()
	if m.WAL.Size > m.WAL.PhysicalSize { // the log that is being written counts only once it is full
		size += m.WAL.Size - m.WAL.PhysicalSize
	}
	return int64(size), nil
}
