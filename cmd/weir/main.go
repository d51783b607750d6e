// Weir runs bulk actions from the command line.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // timetables name zones, and an empty machine has none

	"github.com/weirhq/weir/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.OS()))
}
