// Package cli gives your own program every command of weir, with your Go
// actions compiled in.
//
//	func main() {
//		chain := weir.Then(weir.Start(award), notify, toMessage)
//		os.Exit(cli.Main(context.Background(), chain.Steps()...))
//	}
//
// The program then runs like weir does: yours run users.csv --action award --action notify.
package cli

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli"
)

// Main runs the command that this process was called with and returns its exit
// code. The steps are known to --action by their names, besides those of
// weir.yaml. Handlers are called only while a command runs that needs them.
func Main(ctx context.Context, steps ...weir.Step) int {
	env := cli.OS()
	env.Steps = steps
	return cli.Main(ctx, env)
}
