//go:build planted

package sim

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/lab/planted"
)

// mostSeeds is within how many seeds each planted bug must be found.
const mostSeeds = 2000

// TestPlantedBugsAreFound switches on one bug after the other: a simulation that
// found none of them would prove nothing about the code without them.
func TestPlantedBugsAreFound(t *testing.T) {
	codec := newCodec(t)
	defer planted.Choose("")
	bugs, err := planted.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, bug := range bugs {
		t.Run(bug.Name, func(t *testing.T) {
			planted.Choose(bug.Name)
			f := firstFailure(t.Context(), codec)
			if f == nil {
				t.Fatalf("not found in %d seeds", mostSeeds)
			}
			t.Logf("found by seed %d: %s: %.150s", f.Seed, f.Invariant, f.Problem)
			planted.Choose("") // the control: without the bug the same seed has nothing to show
			if other := Run(t.Context(), f.Seed, codec, false).Failure; other != nil {
				t.Errorf("not the bug's doing, it fails without it: %v", other)
			}
		})
	}
}

// firstFailure simulates seeds until one fails.
func firstFailure(ctx context.Context, codec *block.Codec) *Failure {
	var found atomic.Pointer[Failure]
	eachSeed(1, mostSeeds, func(seed uint64) bool {
		if f := Run(ctx, seed, codec, false).Failure; f != nil {
			found.Store(f)
		}
		return found.Load() == nil
	})
	return found.Load()
}
