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
				_, err := fmt.Fprintf(env.Stdout, "%s %s (%s, %s/%s)\n", env.Program, command.Version(), runtime.Version(),
					runtime.GOOS, runtime.GOARCH)
				return err
			}
		},
	}
}
