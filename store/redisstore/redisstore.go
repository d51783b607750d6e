package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// Store is a [store.Store] on Redis or Valkey.
type Store struct {
	opts    Options
	client  rueidis.Client
	scripts scripts
	keys    sync.Map // partition -> *keys
	quotas  quotas

	listener listener
	renewals renewals

	life context.Context // ends with Close
	end  context.CancelFunc
	once sync.Once
	done sync.WaitGroup // the watch and the guard
	ill  illness

	guard         *guard      // in mode Replicated
	sentinels     *sentinels  // if there are some
	waitsForDisks atomic.Bool // all servers can tell what is on the disks of replicas
	failsOver     atomic.Bool // a server has replicas, one of which may be promoted
}

var _ store.Store = (*Store)(nil)

const (
	dialFor   = 2 * time.Second // until a server without an answer counts as unreachable
	pingEvery = 2 * time.Second // on a connection without traffic
	answerIn  = 5 * time.Second // until a connection counts as dead

	mostRedirects = 8 // to follow: nodes that point at each other will agree eventually
)

// Open connects to the servers, and refuses those that keep less than o.Mode promises or may
// evict keys.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	client, err := rueidis.NewClient(o.client())
	if err != nil {
		return nil, fmt.Errorf("redisstore: connect to %v: %w", o.Addresses, refusal(err))
	}
	s := &Store{opts: o, client: client, scripts: newScripts()}
	s.quotas.client, s.listener.streams = decimal(newNonce()), map[string]*stream{}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.sentinels = &sentinels{opts: o, clients: map[string]rueidis.Client{}, named: map[string]bool{}}
	s.guard = newGuard(o, s.looker())
	err = s.inspect(ctx)
	if err == nil {
		err = s.admit(ctx)
	}
	if err != nil {
		_ = s.Close() // never fails
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	if o.Mode == Disk && s.mayFailOver() {
		o.Logger.LogAttrs(ctx, slog.LevelWarn,
			"mode disk gives no more than memory here: a replica may be promoted that lacks what was acknowledged; use mode replicated")
	}
	s.done.Go(s.watch)
	if o.Mode == Replicated {
		s.done.Go(func() { s.guard.run(s.life) })
	}
	return s, nil
}

// looker returns the function that checks the primaries and their confirmation.
func (s *Store) looker() func(context.Context) []sight {
	switch {
	case s.opts.Primary != "":
		return s.lookAtSentinels
	case s.client.Mode() == rueidis.ClientModeCluster:
		return s.lookAtCluster
	}
	return s.lookAtServers
}

// client returns the options of the client.
func (o Options) client() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress: o.Addresses,
		Username:    o.Username, Password: o.Password, TLSConfig: o.TLS,
		Sentinel: rueidis.SentinelOption{
			MasterSet: o.Primary, Username: o.SentinelUsername, Password: o.SentinelPassword, TLSConfig: o.TLS,
		},
		ClientName:       "weir",
		ClientSetInfo:    rueidis.DisableClientSetInfo, // one permission less for the user
		Dialer:           net.Dialer{Timeout: dialFor, KeepAlive: pingEvery},
		ConnWriteTimeout: answerIn,
		ClusterOption:    rueidis.ClusterOption{ShardsRefreshInterval: time.Second, MaxMovedRedirections: mostRedirects},
		DisableCache:     true, // the data changes all the time
		RetryDelay:       retryDelay,
	}
}

// retryDelay lets the client repeat reads, which it may, for a quarter of a second in total;
// after that the caller decides. A repeated command is pinned: the client would reuse its
// memory while the failed connection may still be writing it.
func retryDelay(attempts int, cmd rueidis.Completed, _ error) time.Duration {
	cmd.Pin()
	const most = 7
	if attempts > most {
		return -1
	}
	return time.Millisecond << attempts
}

// Durability returns what an acknowledged write survives, as of the last check of the servers:
// the requested mode, or less. Mode [Disk] counts as [Memory] where a replica may be
// promoted, since writes do not wait until it has them. The same holds for mode [Replicated]
// while replicas are missing, and for each mode while the settings of a server keep less.
func (s *Store) Durability() string {
	switch m := s.opts.Mode; {
	case s.ill.get() != nil, m == Disk && s.mayFailOver(), m == Replicated && s.guard.short() != nil:
		return Memory.String()
	default:
		return m.String()
	}
}

// mayFailOver reports whether another server may replace one.
func (s *Store) mayFailOver() bool { return s.opts.Primary != "" || s.failsOver.Load() }

// Close ends all calls, also those that wait. The data on the servers stays.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.end()
		s.listener.close()
		s.renewals.close()
		s.client.Close()
		s.done.Wait()
		s.sentinels.close()
	})
	return nil
}

// enter starts a call.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.life.Err() != nil {
		return store.ErrClosed
	}
	return nil
}
