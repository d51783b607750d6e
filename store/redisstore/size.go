package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Size returns the memory that the servers use, in bytes, without replicas. It includes data of
// other users of the servers.
func (s *Store) Size(ctx context.Context) (sum int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	for address, node := range s.client.Nodes() {
		text, err := node.Do(ctx, node.B().Info().Section("everything").Build()).ToString()
		if err != nil {
			return 0, fmt.Errorf("size of server %s: %w", address, refusal(err))
		}
		info := fields(text)
		if info["role"] != "master" {
			continue
		}
		n, err := strconv.ParseInt(info["used_memory"], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("size of server %s: it does not tell", address)
		}
		sum += n
	}
	return sum, nil
}

// Size returns the sum over all servers.
func (s *Spread) Size(ctx context.Context) (sum int64, err error) {
	var errs []error
	for _, one := range s.stores {
		n, err := one.Size(ctx)
		sum, errs = sum+n, append(errs, err)
	}
	return sum, errors.Join(errs...)
}
