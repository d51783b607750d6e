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
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes.
const (
	exitOK          = 0   // all items are done
	exitOther       = 1   // something else went wrong
	exitUsage       = 2   // usage, configuration or input; nothing was accepted
	exitUnreachable = 3   // a server that is needed cannot be reached
	exitRefused     = 4   // the server would not do it
	exitSomeFailed  = 5   // finished, but not every item is done
	exitStopped     = 6   // stopped by a failure rule
	exitTimeout     = 7   // --run-timeout was reached
	exitInterrupted = 130 // interrupted; the state is saved
)

// command is one command as a value. bind adds its flags and returns what runs it.
type command struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	bind                      func(fs *pflag.FlagSet) runner
	subs                      []command // a command with others below it has nothing to run itself
}

// runner does the work of a command.
type runner func(ctx context.Context, env *Env, args []string) error

// commands are all commands, in the order of the help.
func commands() []command {
	return []command{
		runCommand(), submitCommand(), listCommand(), getCommand(), watchCommand(),
		startCommand(), pauseCommand(), resumeCommand(), approveCommand(), cancelCommand(),
		previewCommand(), forecastCommand(), trialCommand(), retryCommand(), undoCommand(), cloneCommand(), reportCommand(),
		itemsCommand(), itemCommand(), errorsCommand(),
		actionsCommand(), resourcesCommand(), tenantsCommand(), connectionsCommand(), templatesCommand(), schedulesCommand(),
		webhooksCommand(), dlqCommand(),
		simulateCommand(), nodesCommand(),
		lanesCommand(), pinCommand(), unpinCommand(), scalingCommand(), circuitCommand(),
		loginCommand(), keysCommand(), auditCommand(), apiCommand(),
		serveCommand(), configCommand(), doctorCommand(), completionCommand(),
		devCommand(), versionCommand(),
	}
}

// Main runs the command that env's arguments name and returns the exit code.
func Main(ctx context.Context, env Env) int {
	env.fill()
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
	var f *failure
	if err != nil && !errors.As(err, &f) {
		f = explain(err)
	}
	if f == nil {
		return exitOK
	}
	f.print(&env)
	return f.code
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
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noSuchCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	plain := root.PersistentFlags().Bool("no-color", false, "print without colour")
	root.PersistentPreRun = func(*cobra.Command, []string) { env.NoColour = env.NoColour || *plain }
	for _, c := range commands() {
		root.AddCommand(c.cobra(env))
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

// cobra makes the command known to the parser.
func (c command) cobra(env *Env) *cobra.Command {
	out := &cobra.Command{Use: c.use, Short: c.short, Long: c.long, Example: c.example, Args: c.args}
	out.Flags().SortFlags = false
	if len(c.subs) > 0 {
		for _, s := range c.subs {
			out.AddCommand(s.cobra(env))
		}
		out.Args, out.RunE = noSuchCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		return out
	}
	out.SetUsageFunc(func(c *cobra.Command) error { return usage(env, c) })
	run := c.bind(out.Flags())
	out.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), env, args) }
	return out
}
