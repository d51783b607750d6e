package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

// inspection compares servers with the mode.
type inspection struct {
	store *Store

	mu              sync.Mutex
	replicas        []string // addresses reported by the servers
	refused, silent []error
	syncs           bool // all servers can report what is on disks
	failsOver       bool // there are replicas, one of which may be promoted
}

// inspect compares every server with the mode. A server without an answer is logged; if none
// answers, that is an error.
func (s *Store) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	i := inspection{store: s, syncs: true}
	nodes := s.client.Nodes()
	var wg sync.WaitGroup
	for address, node := range nodes {
		wg.Go(func() { i.one(ctx, address, node) })
	}
	wg.Wait()
	if len(i.silent) == len(nodes) {
		return fmt.Errorf("no server answers: %w", errors.Join(i.silent...))
	}
	if s.opts.Mode == Replicated {
		i.others(ctx, nodes)
	}
	s.waitsForDisks.Store(i.syncs)
	if len(i.silent) == 0 || i.failsOver {
		s.failsOver.Store(i.failsOver)
	}
	for _, err := range i.silent {
		s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "server not inspected", slog.Any("error", err))
	}
	return errors.Join(i.refused...)
}

// one inspects a server.
func (i *inspection) one(ctx context.Context, address string, c rueidis.Client) {
	f, err := ask(ctx, c)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil {
		i.silent = append(i.silent, fmt.Errorf("server %s: %w", address, err))
		return
	}
	o := i.store.opts
	o.Logger.LogAttrs(ctx, slog.LevelDebug, "server inspected", slog.String("server", address), slog.String("version", f.version),
		slog.String("gives", f.mode().String()), slog.String("log", f.log()), slog.Int("replicas", f.replicas))
	i.syncs = i.syncs && f.syncs()
	i.replicas = append(i.replicas, f.at...)
	if bad := f.check(o.Mode, o.Replicas); bad != nil {
		i.refused = append(i.refused, &SettingsError{address, bad})
	}
	i.failsOver = i.failsOver || f.replicas > 0 || !f.primary
}

// others inspects replicas that only their primary reports: acknowledged writes count on their
// disks, and they may be promoted.
func (i *inspection) others(ctx context.Context, known map[string]rueidis.Client) {
	var wg sync.WaitGroup
	for _, address := range i.replicas {
		if known[address] != nil {
			continue
		}
		wg.Go(func() {
			o := i.store.opts.client()
			o.InitAddress, o.ForceSingleClient, o.Sentinel = []string{address}, true, rueidis.SentinelOption{}
			c, err := rueidis.NewClient(o)
			if err != nil {
				i.mu.Lock()
				defer i.mu.Unlock()
				i.silent = append(i.silent, fmt.Errorf("server %s: %w", address, refusal(err)))
				return
			}
			defer c.Close()
			i.one(ctx, address, c)
		})
	}
	wg.Wait()
}

// replicaAddresses reads lines like slave0:ip=10.0.0.7,port=6379,state=online,offset=14,lag=0.
func replicaAddresses(info map[string]string) (all []string) {
	for n := 0; ; n++ {
		line, ok := info["slave"+strconv.Itoa(n)]
		if !ok {
			return all
		}
		f := map[string]string{}
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			f[name] = value
		}
		all = append(all, net.JoinHostPort(f["ip"], f["port"]))
	}
}
