// Weir runs bulk actions from the command line.
package main

import (
	"context"
	"os"

	"github.com/weirhq/weir/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.OS()))
}
