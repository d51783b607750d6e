package scaling

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/testkit/storedtest"
)

func TestTheStoredFormatIsOnRecord(t *testing.T) {
	storedtest.Check(t, "testdata/stored.txt", map[string]any{
		"scaling": weir.Scaling{}, "decision": weir.Decision{}, "history": scale.History{}, "change": weir.ResourceChange{},
	})
}
