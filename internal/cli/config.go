package cli

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/config"
)

func configCommand() command {
	return command{
		use: "config print", short: "show every server setting and its origin",
		long: `Shows the settings that weir serve would use with the same flags, environment variables and file: each setting, its
value, and its origin (a flag, a variable, a line of the file, or the default). Secrets are not shown.`,
		example: `  weir config print
  weir config print --config /etc/weir/weir.yaml -o json`,
		args: onlyPrint,
		bind: func(fs *pflag.FlagSet) runner {
			o, format := &serverSettings{}, outputFormat("")
			format.bind(fs)
			o.bind(fs)
			return func(_ context.Context, env *Env, _ []string) error {
				c, err := o.load(env)
				if err != nil {
					return err
				}
				if format == asJSON {
					return printJSON(env, c.Values())
				}
				return printValues(env, c.Values())
			}
		},
	}
}

// onlyPrint wants the one word that follows config.
func onlyPrint(cmd *cobra.Command, args []string) error {
	if err := between(1, 1, "print")(cmd, args); err != nil {
		return err
	}
	if args[0] != "print" {
		return badUsage("usage: "+cmd.UseLine(), "unknown command %q of config", args[0])
	}
	return nil
}

func printValues(env *Env, all []config.Value) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, v := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, cmp.Or(v.Text, "-"), v.Origin)
	}
	return w.Flush()
}
