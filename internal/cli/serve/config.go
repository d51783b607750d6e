package serve

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
)

func configCommand() command.Command {
	return command.Command{
		Use: "config", Short: "show the settings of the server: print, schema",
		Subs: []command.Command{printCommand(), schemaCommand()},
	}
}

func printCommand() command.Command {
	return command.Command{
		Use: "print", Short: "show every server setting and its origin",
		Long: `Shows the settings that weir serve would use with the same flags, environment variables and file: each setting, its
value, and its origin (a flag, a variable, a line of the file, or the default). Secrets are not shown.`,
		Example: `  weir config print
  weir config print --config /etc/weir/weir.yaml -o json`,
		Args: command.Args(0, 0, ""),
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

func schemaCommand() command.Command {
	return command.Command{
		Use: "schema", Short: "print the JSON Schema of weir.yaml, for editors",
		Long: `Prints the JSON Schema of the configuration file. An editor with a YAML language server completes keys, shows what
they mean, and marks unknown keys, values without a unit and values out of bounds, if the file begins with:

  # yaml-language-server: $schema=weir.schema.json`,
		Example: `  weir config schema > weir.schema.json`,
		Args:    command.Args(0, 0, ""),
		Bind: func(*pflag.FlagSet) command.Runner {
			return func(_ context.Context, env *command.Env, _ []string) error {
				return command.PrintJSON(env, config.Schema())
			}
		},
	}
}

func printValues(env *command.Env, all []config.Value) error {
	t := term.NewTable("SETTING\tVALUE\tFROM")
	for _, v := range all {
		t.Row("%s\t%s\t%s", v.Key, cmp.Or(v.Text, "-"), v.Origin)
	}
	return t.Print(env.Stdout)
}
