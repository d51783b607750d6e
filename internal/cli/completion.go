package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
)

const completionLong = `Prints a script with which your shell completes commands, flags, their values, and the names that the server knows: ids of
bulk actions in a state in which the command does something, actions, resources, tenants, templates.

  bash        weir completion bash > ~/.local/share/bash-completion/completions/weir
  zsh         weir completion zsh > "${fpath[1]}/_weir"
  fish        weir completion fish > ~/.config/fish/completions/weir.fish
  powershell  weir completion powershell | Out-String | Invoke-Expression`

// shells are those that a script can be written for.
var shells = map[string]func(root *cobra.Command, env *command.Env) error{
	"bash": func(root *cobra.Command, env *command.Env) error { return root.GenBashCompletionV2(env.Stdout, true) },
	"zsh":  func(root *cobra.Command, env *command.Env) error { return root.GenZshCompletion(env.Stdout) },
	"fish": func(root *cobra.Command, env *command.Env) error { return root.GenFishCompletion(env.Stdout, true) },
	"powershell": func(root *cobra.Command, env *command.Env) error {
		return root.GenPowerShellCompletionWithDesc(env.Stdout)
	},
}

func completionCommand() command.Command {
	return command.Command{
		Use: "completion SHELL", Short: "print a shell completion script", Long: completionLong,
		Args: command.Args(1, 1, "SHELL"),
		Bind: func(*pflag.FlagSet) command.Runner {
			return func(_ context.Context, env *command.Env, args []string) error {
				write, ok := shells[args[0]]
				if !ok {
					known := slices.Sorted(maps.Keys(shells))
					return command.BadUsage("write one of "+strings.Join(known, ", "), "no completion script exists for %q", args[0])
				}
				return write(newRoot(env), env)
			}
		},
	}
}
