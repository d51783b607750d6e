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
	first := s.gate(0, limited).(*gate)
	s.former(now) // partition 1 is taken over after partition 0 has made its gate
	for i, g := range []*gate{first, s.gate(1, limited).(*gate)} {
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
