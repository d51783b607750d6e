package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
)

func manCommand() command.Command {
	return command.Command{
		Use: "man DIR", Short: "write the manual pages of all commands",
		Long: `Writes a manual page for each command into a directory, which is made if it is missing.

  weir man ~/.local/share/man/man1 && man weir-submit`,
		Args: command.Args(1, 1, "DIR"),
		Bind: func(*pflag.FlagSet) command.Runner {
			return func(_ context.Context, env *command.Env, args []string) error {
				dir := env.Path(args[0])
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
				return eachCommand(newRoot(env), func(c *cobra.Command) error {
					return os.WriteFile(filepath.Join(dir, pageName(c)+".1"), manPage(c), 0o644)
				})
			}
		},
	}
}

// eachCommand visits a command and those below it.
func eachCommand(c *cobra.Command, do func(*cobra.Command) error) error {
	err := do(c)
	for _, sub := range c.Commands() {
		if err == nil {
			err = eachCommand(sub, do)
		}
	}
	return err
}

// pageName is what man is asked for.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes the help of a command in the language of man.
func manPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s\n", roff(strings.ToUpper(pageName(c))), roff(command.Version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(c.Long))
	}
	if c.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	headings, groups := groupsOf(c)
	for _, h := range headings {
		title := h
		if len(headings) == 1 {
			title = "FLAGS"
		}
		fmt.Fprintf(&b, ".SH %s\n", roff(title))
		groups[h].VisitAll(func(f *pflag.Flag) {
			name, says := pflag.UnquoteUsage(f)
			short := ""
			if f.Shorthand != "" {
				short = "-" + f.Shorthand + ", "
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(short+"--"+f.Name+" "+name)), roff(says))
		})
	}
	related := c.Commands()
	if c.HasParent() {
		related = append(related, c.Parent())
	}
	var also []string
	for _, other := range related {
		also = append(also, fmt.Sprintf(".BR %s (1)", roff(pageName(other))))
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.Bytes()
}

var (
	escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)
	leading = strings.NewReplacer("\n.", "\n\\&.", "\n'", "\n\\&'")
)

// roff writes a text so that man shows it as it is.
func roff(text string) string { return leading.Replace("\n" + escapes.Replace(text))[1:] }
