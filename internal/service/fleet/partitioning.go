package fleet

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/records"
)

// Partitioning returns over how many partitions new work is spread, and the version of that.
func (s *Fleet) Partitioning(ctx context.Context) (api.PartitioningStatus, string, error) {
	p, err := s.engine.Partitioning(ctx)
	return viewPartitioning(p), partitioningVersion(p), err
}

func viewPartitioning(p engine.Partitioning) api.PartitioningStatus {
	return api.PartitioningStatus{Partitioning: api.Partitioning{Partitions: p.Partitions}, Kept: p.Kept, Changing: p.Changing}
}

func partitioningVersion(p engine.Partitioning) string { return strconv.FormatUint(p.Version, 10) }

// PutPartitioning changes the number of partitions. With dry it returns what the change would lead to, and changes
// nothing. It is refused while another change is under way.
func (s *Fleet) PutPartitioning(ctx context.Context, n int, dry bool, match records.Match) (api.PartitioningStatus, string, error) {
	allow := func(p engine.Partitioning) error {
		if err := match(partitioningVersion(p)); err != nil {
			return err
		}
		if p.Changing && p.Partitions != n {
			return &weir.FieldError{Code: "wrong_state", Field: "partitions",
				Problem: fmt.Sprintf("a change to %d is under way", p.Partitions), Fix: "try again when it is over"}
		}
		return nil
	}
	if dry {
		now, err := s.engine.Partitioning(ctx)
		if err == nil {
			err = allow(now)
		}
		return viewPartitioning(engine.Partitioning{Partitions: n, Kept: max(now.Kept, n)}), partitioningVersion(now), err
	}
	if err := s.engine.ChangePartitions(ctx, n, allow); err != nil {
		return api.PartitioningStatus{}, "", err
	}
	return s.Partitioning(ctx)
}
