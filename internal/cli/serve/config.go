package serve

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
)

func configCommand() command.Command {
	return command.Command{
		Use: "config print", Short: "show every server setting and its origin",
		Long: `Shows the settings that weir serve would use with the same flags, environment variables and file: each setting, its
value, and its origin (a flag, a variable, a line of the file, or the default). Secrets are not shown.`,
		Example: `  weir config print
  weir config print --config /etc/weir/weir.yaml -o json`,
		Args: onlyPrint,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o, format := &Settings{}, command.Table
			format.BindTableOrJSON(fs)
			o.Bind(fs)
			return func(_ context.Context, env *command.Env, _ []string) error {
				c, err := o.Load(env)
				if err != nil {
					return err
				}
				if format == command.JSON {
					return command.PrintJSON(env, c.Values())
				}
				return printValues(env, c.Values())
			}
		},
	}
}

// onlyPrint wants the one word that follows config.
func onlyPrint(cmd *cobra.Command, args []string) error {
	if err := command.Args(1, 1, "print")(cmd, args); err != nil {
		return err
	}
	if args[0] != "print" {
		return command.BadUsage("usage: "+cmd.UseLine(), "unknown command %q of config", args[0])
	}
	return nil
}

func printValues(env *command.Env, all []config.Value) error {
	t := term.NewTable("SETTING\tVALUE\tFROM")
	for _, v := range all {
		t.Row("%s\t%s\t%s", v.Key, cmp.Or(v.Text, "-"), v.Origin)
	}
	return t.Print(env.Stdout)
}
