// Package cli is the command line of weir: the commands, what they print, and
// their exit codes.
//
// [Main] runs one command. Everything that a command may touch comes in [Env]:
// arguments, streams, environment, working directory, signals and the terminal.
// Results go to stdout; messages and progress go to stderr.
package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/weirhq/weir/internal/cli/backup"
	"github.com/weirhq/weir/internal/cli/bulk"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/dev"
	"github.com/weirhq/weir/internal/cli/doctor"
	"github.com/weirhq/weir/internal/cli/manage"
	"github.com/weirhq/weir/internal/cli/operate"
	"github.com/weirhq/weir/internal/cli/run"
	"github.com/weirhq/weir/internal/cli/serve"
	"github.com/weirhq/weir/internal/cli/simulate"
	"github.com/weirhq/weir/internal/cli/submit"
)

// Env is everything that a command may touch.
type Env = command.Env

// OS returns the environment of this process.
func OS() Env { return command.OS() }

// commands returns all commands. The help sorts them by name.
func commands() []command.Command {
	return slices.Concat(run.Commands(), bulk.Commands(), manage.Commands(), operate.Commands(), serve.Commands(), backup.Commands(), []command.Command{
		submit.Command(), simulate.Command(), doctor.Command(), dev.Command(), completionCommand(), versionCommand(), manCommand(), healthCommand(),
	})
}

// Main runs the command that env's arguments name and returns the exit code.
func Main(ctx context.Context, env Env) int {
	env.Fill()
	root := newRoot(&env)
	root.SetArgs(env.Args)
	var unknown error
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasSubCommands() { // --help after a word that is not a command
			unknown = noSuchCommand(c, c.Flags().Args())
		}
		if unknown == nil {
			help(c, args)
		}
	})
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = unknown
	}
	var f *command.Failure
	if err != nil && !errors.As(err, &f) {
		f = command.Explain(err)
	}
	if f == nil {
		return command.ExitOK
	}
	f.Print(&env)
	return f.Code
}

const rootLong = `weir runs a chain of actions over millions of items. It shares capacity fairly between
tenants, stays within downstream limits, and finishes even if a process crashes.

Start here:
  weir dev                                       a demo server in memory, no setup
  weir run users.csv --action demo.award         your items, a demo action
  weir run users.csv --url https://you/batch     your items, your action over HTTP`

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use: env.Program, Short: "run bulk actions to completion", Long: strings.ReplaceAll(rootLong, "weir ", env.Program+" "),
		Version: versionText(), SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noSuchCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Use}} {{.Version}}\n")
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	plain := root.PersistentFlags().Bool("no-color", false, "print without colour")
	root.PersistentPreRun = func(*cobra.Command, []string) { env.NoColour = env.NoColour || *plain }
	for _, c := range commands() {
		root.AddCommand(cobraOf(env, c))
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "show the help of a command, like --help",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = noSuchCommand(c, rest)
			}
			if err != nil {
				return err
			}
			return c.Help()
		}})
	return root
}

// cobraOf makes a command known to the parser.
func cobraOf(env *Env, c command.Command) *cobra.Command {
	out := &cobra.Command{Use: c.Use, Short: c.Short, Long: c.Long, Example: c.Example, Args: c.Args}
	out.Flags().SortFlags = false
	if len(c.Subs) > 0 {
		for _, s := range c.Subs {
			out.AddCommand(cobraOf(env, s))
		}
		out.Args, out.RunE = noSuchCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		return out
	}
	out.SetUsageFunc(func(c *cobra.Command) error { return usage(env, c) })
	run := c.Bind(out.Flags())
	out.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), env, args) }
	complete(env, out)
	return out
}
