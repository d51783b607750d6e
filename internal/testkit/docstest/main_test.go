package docstest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhq/weir/internal/cli"
	"go.uber.org/goleak"
)

// TestMain makes this very binary the program weir if it is called by that name, as pages do.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "weir" {
		os.Exit(cli.Main(context.Background(), cli.OS()))
	}
	goleak.VerifyTestMain(m)
}
