package own

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

func TestPartitionsAreLoadedInOrderOfTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loading
		busy := runtime.GOMAXPROCS(0)
		for p := range busy {
			l.enter(p)
		}
		var order []int
		for _, p := range []int{busy + 2, busy, busy + 1} {
			go func() {
				l.enter(p)
				order = append(order, p)
				l.leave()
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("partitions %v went ahead while %d others did", order, busy)
		}
		l.leave()
		synctest.Wait()
		if want := []int{busy, busy + 1, busy + 2}; !slices.Equal(order, want) {
			t.Errorf("order = %v, want %v", order, want)
		}
	})
}

func TestAPartitionThatWaitsForTheStoreKeepsNoOtherFromLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loading
		s := silentState{answer: make(chan struct{})}
		for p := range runtime.GOMAXPROCS(0) {
			go func() {
				l.enter(p)
				defer l.leave()
				_, _ = inTurn{stored.At(t.Context(), s, p), &l}.GetMany(nil)
			}()
		}
		synctest.Wait()
		l.enter(stored.MaxPartitions - 1) // would block the test for ever
		l.leave()
		close(s.answer)
		synctest.Wait()
		if l.ahead != 0 || len(l.waiting) > 0 {
			t.Errorf("%d are ahead and %d wait when all have loaded", l.ahead, len(l.waiting))
		}
	})
}

// silentState does not answer until it is told to.
type silentState struct {
	store.State
	answer chan struct{}
}

func (s silentState) GetMany(context.Context, int, [][]byte) ([][]byte, error) {
	<-s.answer
	return nil, fmt.Errorf("partition is away: %w", store.ErrUnavailable)
}
