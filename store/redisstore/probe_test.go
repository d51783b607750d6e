package redisstore_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// TestAProbeFindsWhatASubmitWouldMeet brings about each condition, and ends it.
func TestAProbeFindsWhatASubmitWouldMeet(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t, "appendfsync", "always", "save", "3600 1", "dbfilename", "appendonlydir")
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}})
	defer s.Close()
	wantProbe(t, s, "", "disk")
	for _, tt := range []struct {
		begin, end       []string
		want, durability string
	}{
		{[]string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}, "OOM", "disk"},
		{[]string{"BGSAVE"}, []string{"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"}, "MISCONF", "disk"},
		{[]string{"CONFIG", "SET", "appendonly", "no"}, []string{"CONFIG", "SET", "appendonly", "yes"}, "appendonly no", "memory"},
	} {
		r.Do(tt.begin...)
		wantProbe(t, s, tt.want, tt.durability)
		r.Do(tt.end...)
		wantProbe(t, s, "", "disk")
	}
	r.Kill()
	wantProbe(t, s, "does not answer", "disk")
}

// wantProbe waits until a probe gives a reason with a text, or none, and until the store reports a durability.
func wantProbe(t *testing.T, s *redisstore.Store, text, durability string) {
	t.Helper()
	reason := ""
	until(t, "the probe finds "+text+", durability "+durability, func() bool {
		reason = store.Reason(s.Probe(t.Context(), 0))
		return (reason == "") == (text == "") && strings.Contains(reason, text) && s.Durability() == durability
	})
	if strings.Contains(reason, "127.0.0.1") {
		t.Errorf("the reason %q has an address", reason)
	}
}

func TestDiskIsNotPromisedWhereAReplicaMayBePromoted(t *testing.T) {
	t.Parallel()
	set := testenv.NewSentinelSet(t, "appendfsync", "always")
	for name, o := range map[string]redisstore.Options{
		"Sentinels":               {Addresses: set.Addrs(), Primary: testenv.PrimaryName},
		"a server with a replica": {Addresses: []string{set.Primary.Addr}},
	} {
		s := open(t, o)
		if got := s.Durability(); got != "memory" {
			t.Errorf("mode disk on %s: Durability() = %q, want memory", name, got)
		}
		_ = s.Close() // never fails
	}
	o := redisstore.Options{Addresses: set.Addrs(), Primary: testenv.PrimaryName, Mode: redisstore.Replicated, Replicas: 2, Strict: true}
	s := open(t, o)
	defer s.Close()
	wantProbe(t, s, "", "replicated")
	set.Replicas[0].Kill()
	set.Replicas[1].Kill()
	wantProbe(t, s, "0 of 2", "memory")
}
