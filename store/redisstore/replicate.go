package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// replicateIn is how long the replicas may take to have a write.
const replicateIn = time.Second

// LagError is a write that the primary has and not all replicas do. It comes
// with [store.ErrUnknown]: the same write again waits for them again.
type LagError struct{ Have, Want int }

// Error tells both counts.
func (e *LagError) Error() string {
	return fmt.Sprintf("%d of %d replicas have it", e.Have, e.Want)
}

// write sends one command that changes a partition. In mode [Replicated] its
// answer counts only if lag is nil.
func (s *Store) write(ctx context.Context, k *keys, build func(rueidis.Builder) rueidis.Completed) (answer rueidis.RedisResult, lag error) {
	if s.opts.Mode != Replicated {
		return s.client.Do(ctx, build(s.client.B())), nil
	}
	// WAIT has no limit of its own on a connection that is dead and does not know it.
	ctx, cancel := context.WithTimeout(ctx, replicateIn+answerIn)
	defer cancel()
	err := s.client.Dedicated(func(c rueidis.DedicatedClient) error {
		// WAIT is for what this very connection has written. A call that wrote
		// nothing, because it is a repeat, must still wait for what it repeats: so
		// there is always a write just before. A redirect is not followed here, or
		// the count would be that of the wrong server.
		all := c.DoMulti(ctx, build(c.B()),
			c.B().Set().Key(k.mark).Value("1").Build(),
			c.B().Wait().Numreplicas(int64(s.opts.Replicas)).Timeout(replicateIn.Milliseconds()).Build())
		answer = all[0]
		have, err := all[2].AsInt64()
		if err == nil && int(have) < s.opts.Replicas {
			err = &LagError{Have: int(have), Want: s.opts.Replicas}
		}
		if marked := all[1].Error(); marked != nil {
			err = marked
		}
		return err
	})
	return answer, err
}

// writeScript is write for a script.
func (s *Store) writeScript(ctx context.Context, k *keys, sc script, names []string, args ...string) (rueidis.RedisResult, error) {
	answer, lag := s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
		return b.Evalsha().Sha1(sc.sha).Numkeys(int64(len(names))).Key(names...).Arg(args...).Build()
	})
	if e, ok := rueidis.IsRedisErr(answer.Error()); ok && e.IsNoScript() {
		return s.write(ctx, k, func(b rueidis.Builder) rueidis.Completed {
			return b.Eval().Script(sc.source).Numkeys(int64(len(names))).Key(names...).Arg(args...).Build()
		})
	}
	return answer, lag
}
