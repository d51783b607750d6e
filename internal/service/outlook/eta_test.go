package outlook

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// Three bulk actions that are watched in the same order all the time have ETAs of the same age.
func TestETAsTakeTurns(t *testing.T) {
	var e etas
	ids := []weir.BulkID{"a", "b", "c", "d", "e", "f"}
	now := time.Unix(1_800_000_000, 0)
	end := now.Add(time.Minute)
	oldest, spent := time.Duration(0), time.Duration(0)
	for ; now.Before(end); now = now.Add(2 * time.Second) {
		for _, id := range ids {
			known, mine := e.ask(id, now)
			if mine {
				const took = 20 * time.Millisecond // as with twenty bulk actions beside it
				e.keep(id, eta{end: end, at: now}, took)
				spent += took
				continue
			}
			if known.end.IsZero() {
				t.Fatalf("%s has no ETA at %s", id, now.Format(time.TimeOnly))
			}
			oldest = max(oldest, now.Sub(known.at))
		}
	}
	if oldest > 15*time.Second {
		t.Errorf("an ETA was %s old", oldest)
	}
	if most := time.Minute/50 + etaAhead/50; spent > most {
		t.Errorf("ETAs took %s of a minute, want at most %s", spent, most)
	}
}
