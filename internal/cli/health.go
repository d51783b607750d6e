package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
)

func healthCommand() command.Command {
	return command.Command{
		Use: "health", Short: "ask whether a server is ready for requests, as a health check of a container",
		Long: `Asks the server once whether it is ready, and prints one line. It needs no key.

Exit codes: 0 it is ready · 3 it does not answer · 4 it is not ready; the output says why`,
		Example: `  weir health --server http://127.0.0.1:8080`,
		Args:    command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			at := link.Server{Tries: 1}
			at.Bind(fs)
			return func(ctx context.Context, env *command.Env, _ []string) error {
				return at.Ask(ctx, env, "", func(ctx context.Context, l *link.Link) error {
					if err := l.Do(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
						return err
					}
					_, err := fmt.Fprintln(env.Stdout, "ready")
					return err
				})
			}
		},
	}
}
