package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/core/near"
)

var (
	unknownFlag = regexp.MustCompile(`^unknown (?:shorthand )?flag: (?:'.' in )?-{1,2}([^= ]+)`)
	badFlag     = regexp.MustCompile(`^invalid argument "(.*)" for "(?:-\w, )?(--[^"]+)" flag: ([\s\S]*)$`)
)

// flagError makes the parser's errors readable and names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if meant := near.Word(m[1], names); meant != "" {
			help = fmt.Sprintf("did you mean --%s? %s", meant, help)
		}
		return command.BadUsage(help, "unknown flag %s", m[0][strings.LastIndexByte(m[0], ' ')+1:])
	}
	if m := badFlag.FindStringSubmatch(text); m != nil {
		what, fix := command.WhatToWrite(plainNumber(m[1], m[3]))
		return command.BadUsage(cmp.Or(fix, help), "%s: %s", m[2], what)
	}
	return command.BadUsage(help, "%s", text)
}

// plainNumber says in words what strconv says of a value in its own.
func plainNumber(value, problem string) string {
	kind, ok := strings.CutPrefix(problem, "strconv.Parse")
	switch {
	case !ok:
		return problem
	case strings.Contains(problem, "out of range"):
		return value + " is too large"
	case strings.HasPrefix(kind, "Bool"):
		return fmt.Sprintf("%q is neither true nor false", value)
	case strings.HasPrefix(kind, "Float"):
		return fmt.Sprintf("%q is not a number", value)
	}
	return fmt.Sprintf("%q is not a whole number", value)
}

// noSuchCommand refuses unknown commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	fix := fmt.Sprintf("%s --help lists the commands", cmd.CommandPath())
	if meant := near.Word(args[0], names); meant != "" {
		fix = fmt.Sprintf("did you mean %s %s? %s", cmd.CommandPath(), meant, fix)
	}
	return command.BadUsage(fix, "unknown command %q", args[0])
}
