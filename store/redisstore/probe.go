package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

var (
	_ store.Prober = (*Store)(nil)
	_ store.Prober = (*Spread)(nil)
)

// Probe writes a mark like every write of mode [Replicated], and waits for the replicas in that
// mode. It also fails while the servers' settings keep less than promised.
func (s *Store) Probe(ctx context.Context, partition int) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := s.ill.get(); err != nil {
		return err
	}
	k := s.keysOf(partition)
	reply, lag := s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
		return b.Set().Key(k.mark).Value("1").Build()
	})
	if err := reply.Error(); err != nil {
		return s.unsure(ctx, "probe", partition, err)
	}
	return s.lagging(ctx, "probe", partition, lag)
}

// Probe implements [store.Prober].
func (s *Spread) Probe(ctx context.Context, partition int) error {
	return s.of(partition).Probe(ctx, partition)
}

// Reason returns the server's message.
func (e *WaitError) Reason() string { return "the store refuses writes: " + e.Text }

// Reason states both counts.
func (e *LagError) Reason() string { return "the store acknowledges nothing: " + e.Error() }

// SettingsError reports a server whose settings keep less than the mode promises.
type SettingsError struct {
	Server  string // its address
	Problem error
}

// Error names the server.
func (e *SettingsError) Error() string { return "server " + e.Server + ": " + e.Problem.Error() }

// Reason does not name the server.
func (e *SettingsError) Reason() string {
	return "the store keeps less than was promised: " + e.Problem.Error()
}
