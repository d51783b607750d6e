package redisstore

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// sentinels asks the Sentinels which server is the primary.
type sentinels struct {
	opts Options

	mu      sync.Mutex
	clients map[string]rueidis.Client // by address; made when needed
	named   map[string]bool           // primaries that a majority has named and that have followed no other since
}

// sentinelAnswer is the report of one Sentinel.
type sentinelAnswer struct {
	primary  string              // its address; empty if it is not in good health
	replicas map[string]follower // by address
	others   int                 // Sentinels
	noticed  time.Duration
}

// follower is a replica as a Sentinel sees it.
type follower struct{ alive, connected bool }

// lookAtSentinels lets the Sentinels confirm the primary.
func (s *Store) lookAtSentinels(ctx context.Context) []sight {
	at := time.Now()
	answers := s.sentinels.ask(ctx)
	all := s.lookAtServers(ctx)
	for i := range all {
		all[i].at = at
		s.sentinels.confirm(&all[i], answers)
	}
	return all
}

// confirm requires a majority of all Sentinels, not only of those that answer.
//
// A former primary is not waited for: a majority has deposed it, and it cannot be promoted
// before it has followed the new one, though the Sentinels need a while to detect that it is
// dead.
func (q *sentinels) confirm(s *sight, answers []sentinelAnswer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, yes := 0, 0
	for _, a := range answers {
		size = max(size, a.others+1)
		if a.primary != s.address {
			continue
		}
		yes++
		alive := 0
		for address, f := range a.replicas {
			if f.connected {
				delete(q.named, address)
			}
			if f.alive && !q.named[address] {
				alive++
			}
		}
		s.alive, s.known = max(s.alive, alive), max(s.known, len(a.replicas))
		s.noticedIn = max(s.noticedIn, a.noticed)
	}
	if s.confirmed = 2*yes > size; s.confirmed {
		q.named[s.address] = true
	}
}

// ask asks all of them at once, and leaves out those that do not answer.
func (q *sentinels) ask(ctx context.Context) []sentinelAnswer {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []sentinelAnswer
	for _, address := range q.opts.Addresses {
		wg.Go(func() {
			a, err := q.askOne(ctx, address)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, a)
			}
		})
	}
	wg.Wait()
	return all
}

func (q *sentinels) askOne(ctx context.Context, address string) (sentinelAnswer, error) {
	c, err := q.client(address)
	if err != nil {
		return sentinelAnswer{}, err
	}
	replies := c.DoMulti(ctx,
		c.B().Arbitrary("SENTINEL", "MASTER", q.opts.Primary).Build(),
		c.B().Arbitrary("SENTINEL", "REPLICAS", q.opts.Primary).Build())
	primary, err := replies[0].AsStrMap()
	if err != nil {
		return sentinelAnswer{}, err
	}
	list, err := replies[1].ToArray()
	if err != nil {
		return sentinelAnswer{}, err
	}
	a := sentinelAnswer{replicas: map[string]follower{}}
	if !down(primary["flags"]) {
		a.primary = net.JoinHostPort(primary["ip"], primary["port"])
	}
	a.others, _ = strconv.Atoi(primary["num-other-sentinels"])
	ms, _ := strconv.Atoi(primary["down-after-milliseconds"])
	a.noticed = 2 * time.Duration(ms) * time.Millisecond
	for _, r := range list {
		replica, err := r.AsStrMap()
		if err != nil {
			return sentinelAnswer{}, err
		}
		alive := !down(replica["flags"])
		a.replicas[net.JoinHostPort(replica["ip"], replica["port"])] = follower{alive, alive && replica["master-link-status"] == "ok"}
	}
	return a, nil
}

// down reports whether a Sentinel doubts a server: it is down for it or for all of them, or
// being replaced.
func down(flags string) bool {
	return slices.ContainsFunc(strings.Split(flags, ","), func(f string) bool {
		return f == "s_down" || f == "o_down" || f == "failover_in_progress"
	})
}

// client connects to one Sentinel, once. One caller at a time asks for an address.
func (q *sentinels) client(address string) (rueidis.Client, error) {
	q.mu.Lock()
	c := q.clients[address]
	q.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, ForceSingleClient: true,
		Username: q.opts.SentinelUsername, Password: q.opts.SentinelPassword, TLSConfig: q.opts.TLS,
		ClientName: "weir", Dialer: net.Dialer{Timeout: lookFor, KeepAlive: pingEvery}, ConnWriteTimeout: answerIn,
		DisableCache: true, DisableRetry: true,
	})
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.clients[address] = c
	return c, nil
}

func (q *sentinels) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.clients {
		c.Close()
	}
}
