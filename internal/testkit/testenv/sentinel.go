package testenv

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// PrimaryName is the name of the watched server at the Sentinels.
const PrimaryName = "weir"

// SentinelSet is a primary, two replicas, and three Sentinels that watch them.
type SentinelSet struct {
	Primary   *Server // as it began; a failover changes roles
	Replicas  []*Server
	Sentinels []*Server
}

// Addrs returns the addresses of the Sentinels.
func (s *SentinelSet) Addrs() []string { return addrs(s.Sentinels) }

// NewSentinelSet starts one whose Sentinels have found all of it. conf is added to the settings of the servers.
func NewSentinelSet(t testing.TB, conf ...string) *SentinelSet {
	t.Helper()
	dir := t.TempDir()
	conf = append([]string{"save", "", "appendonly", "yes", "appendfsync", "everysec", "repl-diskless-sync-delay", "0"}, conf...)
	set := &SentinelSet{Primary: start(t, mkdir(t, filepath.Join(dir, "primary")), conf)}
	_, port, _ := net.SplitHostPort(set.Primary.Addr)
	for i := range 2 {
		r := start(t, mkdir(t, filepath.Join(dir, "replica"+strconv.Itoa(i))), append(conf, "replicaof", host+" "+port))
		set.Replicas = append(set.Replicas, r)
	}
	await(t, "both replicas are up to date", func() bool { return replicas(set.Primary) == 2 })
	for i := range 3 {
		set.Sentinels = append(set.Sentinels, startSentinel(t, mkdir(t, filepath.Join(dir, "sentinel"+strconv.Itoa(i))), port))
	}
	for _, s := range set.Sentinels {
		await(t, "the Sentinels have found all", func() bool {
			about := s.Do("INFO", "sentinel")
			return strings.Contains(about, "status=ok") && strings.Contains(about, "slaves=2,sentinels=3")
		})
	}
	return set
}

// startSentinel starts a Sentinel, which wants a file to write what it finds into.
func startSentinel(t testing.TB, dir, port string) *Server {
	t.Helper()
	file := filepath.Join(dir, "sentinel.conf")
	s := newServer(t, dir, func() []string { return []string{file, "--sentinel"} })
	s.start(func(own string) {
		text := fmt.Sprintf("port %s\nbind %s\ndir %q\nsentinel monitor %s %s %s 2\n"+
			"sentinel down-after-milliseconds %[4]s 1000\nsentinel failover-timeout %[4]s 5000\n",
			own, host, dir, PrimaryName, host, port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	return s
}

func mkdir(t testing.TB, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
