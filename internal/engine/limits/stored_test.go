package limits

import (
	"testing"

	"github.com/weirhq/weir/internal/testkit/storedtest"
)

func TestTheStoredFormatIsOnRecord(t *testing.T) {
	storedtest.Check(t, "testdata/stored.txt", map[string]any{"limits": record{}})
}
