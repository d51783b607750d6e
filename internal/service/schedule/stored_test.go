package schedule

import (
	"testing"

	"github.com/weirhq/weir/internal/testkit/storedtest"
)

func TestTheStoredFormatIsThatOfTheGoldenFile(t *testing.T) {
	storedtest.Check(t, "testdata/stored.txt", map[string]any{"schedule": Schedule{}})
}
