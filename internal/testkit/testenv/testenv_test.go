package testenv_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/testkit/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAServerComesBackWithItsData(t *testing.T) {
	s := testenv.Redis(t, "appendfsync", "always")
	s.Do("SET", "k", "v")
	s.Kill()
	s.Restart()
	if got := s.Do("GET", "k"); got != "v" {
		t.Errorf("value after kill and restart = %q, want v", got)
	}
	if got := s.Do("CONFIG", "GET", "appendfsync"); got != "[appendfsync always]" {
		t.Errorf("setting = %s, want the one asked for", got)
	}
}

func TestAClusterFailsOver(t *testing.T) {
	c := testenv.NewCluster(t)
	c.Primaries[0].Kill()
	until(t, "the replica has taken over", func() bool {
		return strings.Contains(c.Replicas[0].Do("INFO", "replication"), "role:master")
	})
}

func TestSentinelsFailOver(t *testing.T) {
	s := testenv.NewSentinelSet(t)
	s.Primary.Kill()
	until(t, "a replica has taken over", func() bool {
		for _, r := range s.Replicas {
			if said, err := r.Try("INFO", "replication"); err == nil && strings.Contains(said, "role:master") { // one that is promoted drops its connections
				return true
			}
		}
		return false
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}
