package engine

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/limit"
)

func TestWhatAFormerOwnerStartedCountsAgainstTheRate(t *testing.T) {
	const now, window = int64(time.Hour), int64(time.Second)
	limited := weir.Resource{Name: "limited", Rate: 10}
	s := newShare(8, func(int, string) {})
	first := s.gate(0, limited)
	s.former(now) // partition 1 is taken over after partition 0 has made its gate
	for i, g := range []*gate{first, s.gate(1, limited)} {
		if at, ok := g.Take(now+1, 1, 1, false); ok || at != now+window || g.Cause() != limit.CauseRate {
			t.Errorf("gate %d: take = %v at %d, cause %v; want a refusal until %d for the rate", i, ok, at, g.Cause(), now+window)
		}
	}
	if _, ok := s.gate(1, weir.Resource{Name: "free"}).Take(now+1, 1, 1, false); !ok {
		t.Error("a resource without a rate was closed")
	}
	if _, ok := first.Take(now+window, 1, 1, false); !ok {
		t.Error("the window is over and nothing may start")
	}
}

func TestASharedLimitWaitsForItsQuotaAndForNothingElse(t *testing.T) {
	const now = int64(time.Hour)
	limited := weir.Resource{Name: "limited", Rate: 10}
	woken := 0
	s := newShare(8, func(int, string) { woken++ })
	s.shared = true
	s.former(now)
	bell := make(chan struct{}, 1)
	res, _ := s.watch(limited, bell)
	g := s.gate(0, limited)
	if at, ok := g.Take(now, 1, 1, false); ok || at != limit.Never || g.Cause() != limit.CauseRate {
		t.Errorf("take = %v at %d, cause %v; want a refusal for the rate until there is a quota", ok, at, g.Cause())
	}
	select {
	case <-bell:
	default:
		t.Error("whoever asks for quotas was not told of the work")
	}
	s.mu.Lock()
	s.pool.SetQuota(now+1, res, 10, now+int64(time.Second))
	s.unlock()
	if _, ok := g.Take(now+2, 1, 1, false); !ok || woken != 1 {
		t.Errorf("with a quota take = %v and the lane was woken %d times; the books know what others used", ok, woken)
	}
}
