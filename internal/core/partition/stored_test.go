package partition

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/testkit/storedtest"
)

// What is not JSON, the state of a block and answers, has tests in package block.
func TestTheStoredFormatOfMessagesAndRowsIsOnRecord(t *testing.T) {
	storedtest.Check(t, "testdata/stored/stored.txt", map[string]any{
		"message": envelope{}, "b": Created{}, "n": Status{}, "f": fault.Group{}, "r": Tally{}, "p": partsRow{}, "s": shardRow{},
		"l": Scale{}, "e": Event{}, "x": Tombstone{}, "y": removing{}, "o": Tenure{}, "m": Joint{}, "d": []weir.BulkID{},
	})
}
