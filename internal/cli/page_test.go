package cli

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/testkit/docstest"
)

const cliPage = "docs/cli.md"

func TestThePageListsEveryCommand(t *testing.T) {
	root := newRoot(&Env{Program: "weir"})
	var list, all strings.Builder
	list.WriteString("| command | what it does |\n|---|---|\n")
	_ = eachCommand(root, func(c *cobra.Command) error {
		if c == root || !c.IsAvailableCommand() {
			return nil
		}
		anchor := strings.ReplaceAll(c.CommandPath(), " ", "-")
		fmt.Fprintf(&list, "| [`%s`](#%s) | %s |\n", c.CommandPath(), anchor, cellText(c.Short))
		writeCommand(&all, c)
		return nil
	})
	docstest.Section(t, cliPage, "list", list.String())
	docstest.Section(t, cliPage, "commands", all.String())
}

// writeCommand writes what the help of a command says as Markdown.
func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", c.CommandPath(), sentence(c.Short))
	if c.HasSubCommands() {
		return
	}
	if c.Long != "" {
		b.WriteString("\n" + markdown(c.Long))
	}
	fmt.Fprintf(b, "\n```text\n%s\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(b, "\nExamples:\n%s\n", strings.Trim(c.Example, "\n"))
	}
	b.WriteString("```\n")
	flags := command.NewFlags()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "no-color" && !f.Hidden {
			flags.AddFlag(f)
		}
	})
	whole := withoutSettings(flags)
	if whole.HasFlags() {
		b.WriteString("\n| flag | |\n|---|---|\n")
	}
	whole.VisitAll(func(f *pflag.Flag) { fmt.Fprintf(b, "| %s | %s |\n", flagCell(f), cellText(flagHelp(f))) })
	if n := count(flags) - count(whole); n > 0 {
		fmt.Fprintf(b, "\nAlso the flags of %d [settings of the server](config.md#settings), with the same meaning.\n", n)
	}
}

// withoutSettings leaves out the flags that are settings of the server, which have a page of their own.
func withoutSettings(flags *pflag.FlagSet) *pflag.FlagSet {
	settings := map[string]string{}
	for _, s := range config.Settings() {
		settings[s.Flag] = s.Help
	}
	out := command.NewFlags()
	flags.VisitAll(func(f *pflag.Flag) {
		if help, ok := settings[f.Name]; !ok || help != f.Usage {
			out.AddFlag(f)
		}
	})
	return out
}

func count(flags *pflag.FlagSet) (n int) {
	flags.VisitAll(func(*pflag.Flag) { n++ })
	return n
}

func flagCell(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	name := strings.TrimSpace("--" + f.Name + " " + value)
	if f.NoOptDefVal != "" && value != "" {
		name = "--" + f.Name + "[=" + value + "]"
	}
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return "`" + strings.ReplaceAll(name, "|", `\|`) + "`"
}

func flagHelp(f *pflag.Flag) string {
	_, says := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return says
	}
	return fmt.Sprintf("%s; default %s", says, f.DefValue)
}

// sentence begins a text with a capital letter.
func sentence(text string) string { return escapeText(strings.ToUpper(text[:1]) + text[1:]) }

// cellText writes a text into a table.
func cellText(text string) string { return strings.ReplaceAll(escapeText(text), "|", `\|`) }

var plain = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`)

// escapeText writes a plain text as Markdown.
func escapeText(text string) string { return plain.Replace(text) }

// markdown writes the long text of a command: what is indented is an example.
func markdown(long string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.SplitSeq(strings.Trim(long, "\n"), "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != fenced && line != "" {
			if fenced = indented; fenced {
				b.WriteString("\n```text\n")
			} else {
				b.WriteString("```\n\n")
			}
		}
		if !fenced {
			line = escapeText(line)
		}
		b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	if fenced {
		b.WriteString("```\n")
	}
	return b.String()
}

// The comments of the constants are the page's text.
func TestThePageListsEveryExitCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("command", "exit.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| code | meaning |\n|---|---|\n")
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			fmt.Fprintf(&b, "| %s | %s |\n", v.Values[0].(*ast.BasicLit).Value, strings.TrimSpace(v.Comment.Text()))
		}
		return true
	})
	docstest.Section(t, cliPage, "exit codes", b.String())
}

// An example in the help that has a flag which does not exist is found by asking for help with its flags.
func TestExamplesOfTheHelpCanBeTyped(t *testing.T) {
	examples := map[string]bool{}
	root := newRoot(&Env{Program: "weir"})
	_ = eachCommand(root, func(c *cobra.Command) error {
		for line := range strings.SplitSeq(c.Example+"\n"+c.Long, "\n") {
			if line, ok := strings.CutPrefix(line, "  weir "); ok {
				examples[line] = true
			}
		}
		return nil
	})
	if len(examples) < 50 {
		t.Fatalf("found only %d examples", len(examples))
	}
	for _, line := range slices.Sorted(maps.Keys(examples)) {
		for _, args := range docstest.Commands("weir " + line) {
			var out, messages bytes.Buffer
			env := Env{Args: append(args[1:], "--help"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages, Dir: t.TempDir()}
			if code := Main(context.Background(), env); code != 0 {
				t.Errorf("weir %s: exit code %d: %s", line, code, &messages)
			}
		}
	}
}
