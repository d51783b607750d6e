// Package command holds what all commands share: the value that a command is, the environment that it may touch,
// its failures with their exit codes, and the formats of its output.
//
// A command is a [Command]. All that it may touch comes in [Env]; it has no state of its own. Results go to stdout
// through a [Printer]; messages and progress go to stderr. An error becomes a [Failure], which says what happened
// and what to do.
package command

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Command is one command as a value. Bind adds its flags and returns what runs it.
type Command struct {
	Use, Short, Long, Example string
	Args                      cobra.PositionalArgs
	Bind                      func(fs *pflag.FlagSet) Runner
	Subs                      []Command // a command with others below it has nothing to run itself
}

// Runner does the work of a command.
type Runner func(ctx context.Context, env *Env, args []string) error
