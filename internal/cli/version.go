package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
)

func versionCommand() command.Command {
	return command.Command{
		Use: "version", Short: "print the version", Args: command.Args(0, 0, ""),
		Bind: func(*pflag.FlagSet) command.Runner {
			return func(_ context.Context, env *command.Env, _ []string) error {
				_, err := fmt.Fprintln(env.Stdout, env.Program, versionText())
				return err
			}
		},
	}
}

// versionText names the version and what it was built with and for.
func versionText() string {
	return fmt.Sprintf("%s (%s, %s/%s)", command.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
