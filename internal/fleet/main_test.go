package fleet_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/fleet"
)

func TestMain(m *testing.M) {
	fleet.Child(context.Background())
	goleak.VerifyTestMain(m)
}
