package redisstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
	"github.com/weirhq/weir/store/storetest"
)

func TestConformanceOverUnrelatedServers(t *testing.T) {
	servers := []*testenv.Server{testenv.Redis(t), testenv.Redis(t, "appendfsync", "always")}
	var stages atomic.Int64
	storetest.Run(t, func(t *testing.T) store.Store {
		stage := fmt.Sprint("test-", stages.Add(1))
		return redisstore.NewSpread(
			open(t, redisstore.Options{Addresses: []string{servers[0].Addr}, Mode: redisstore.Memory, Stage: stage}),
			open(t, redisstore.Options{Addresses: []string{servers[1].Addr}, Mode: redisstore.Disk, Stage: stage}))
	})
	for i, r := range servers { // the suite uses partitions 3 and 4
		keys := r.Do("KEYS", "*")
		if mine, others := 4-i, 3+i; !strings.Contains(keys, fmt.Sprintf(":p%d}", mine)) || strings.Contains(keys, fmt.Sprintf(":p%d}", others)) {
			t.Errorf("server %d does not have the keys of partition %d alone", i, mine)
		}
	}
}

func TestSeveralServersGiveWhatTheWeakestGives(t *testing.T) {
	r := testenv.Redis(t, "appendfsync", "always")
	disk := open(t, redisstore.Options{Addresses: []string{r.Addr}})
	memory := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	s := redisstore.NewSpread(disk, memory)
	defer s.Close()
	if got := s.Durability(); got != "memory" {
		t.Errorf("Durability() = %q, want memory", got)
	}
	if err := s.Health(); err != nil {
		t.Errorf("Health() = %v", err)
	}
}
