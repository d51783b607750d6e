package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/edge/source"
)

// failure describes how a command failed: the exit code, what
// happened and what to do next. With an empty what, all has been said already.
type failure struct {
	code int
	what string
	fix  string
}

// Error tells what happened.
func (f *failure) Error() string { return f.what }

func (f *failure) print(env *Env) {
	if f.what == "" {
		return
	}
	p := paint(!env.NoColour)
	fmt.Fprintf(env.Stderr, "%s %s\n", p.red("error:"), tameText(f.what, "       "))
	if f.fix != "" {
		fmt.Fprintf(env.Stderr, "%s   %s\n", p.bold("fix:"), tameText(f.fix, "       "))
	}
}

// ended is a failure about which everything has been printed.
func ended(code int) error {
	if code == exitOK {
		return nil
	}
	return &failure{code: code}
}

// badUsage is an error in what the user asked for.
func badUsage(fix, format string, args ...any) error {
	return &failure{exitUsage, fmt.Sprintf(format, args...), fix}
}

// other is an error that is not the user's.
func other(err error, fix string) error { return &failure{exitOther, err.Error(), fix} }

// explain says what an error of the layers below means for the user.
func explain(err error) *failure {
	var row *source.RowError
	var input *source.InputError
	var conf *config.Error
	var confs *config.Errors
	var problem *api.Problem
	var away *client.UnreachableError
	var field *weir.FieldError
	var many *weir.InputError
	switch {
	case errors.Is(err, errTooLong):
		return &failure{exitTimeout, err.Error(), ""}
	case errors.As(err, &away) && !errors.Is(err, context.Canceled):
		return &failure{exitUnreachable, away.Error(), "check the address (--server, " + serverVariable + "), and that the server is up"}
	case errors.As(err, &problem):
		return refusal(problem)
	case errors.Is(err, context.Canceled):
		return &failure{exitInterrupted, "interrupted", "run the same command again"}
	case errors.As(err, &input):
		return &failure{exitUsage, inputProblem(input), input.Fix}
	case errors.As(err, &row):
		return &failure{exitUsage, err.Error(), ""}
	case errors.As(err, &confs): // before conf, which is its first
		return &failure{exitUsage, confs.Error(), ""}
	case errors.As(err, &conf):
		return &failure{exitUsage, conf.Error(), ""}
	case errors.As(err, &many):
		return &failure{exitUsage, many.Error(), ""}
	case errors.As(err, &field):
		return &failure{exitUsage, strings.TrimPrefix(field.Field+": "+field.Problem, ": "), field.Fix}
	case errors.Is(err, fs.ErrPermission):
		return &failure{exitOther, err.Error(), "check its owner and permissions, or choose another place"}
	}
	return &failure{exitOther, err.Error(), ""}
}

// refusal tells what a server would not do: all faults, if there are several.
func refusal(p *api.Problem) *failure {
	f := &failure{exitRefused, cmp.Or(p.Detail, p.Title, p.Code), p.Fix}
	if len(p.Errors) > 1 {
		f.what = p.Title
		for _, e := range p.Errors {
			f.what += "\n" + faultText(e)
		}
	}
	if p.Status == http.StatusUnauthorized {
		f.fix = "set " + keyFileVariable + ", or save a key with weir login"
	}
	if p.Status >= http.StatusInternalServerError && p.RequestID != "" {
		f.what += " (" + p.RequestID + ")"
	}
	return f
}

func faultText(e api.Fault) string {
	where := e.Field
	if e.Line > 0 {
		where = strings.TrimLeft(fmt.Sprintf("line %d, %s", e.Line, e.Field), " ")
		where = strings.TrimSuffix(where, ", ")
	}
	text := e.Message
	if where != "" {
		text = where + ": " + text
	}
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

func inputProblem(e *source.InputError) string {
	c := *e
	c.Fix = ""
	return c.Error()
}

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
		return badUsage(help, "unknown flag %s", m[0][strings.LastIndexByte(m[0], ' ')+1:])
	}
	if m := badFlag.FindStringSubmatch(text); m != nil {
		what, fix := whatToWrite(plainNumber(m[1], m[3]))
		return badUsage(cmp.Or(fix, help), "%s: %s", m[2], what)
	}
	return badUsage(help, "%s", text)
}

// whatToWrite splits what is wrong with a value from what to write instead; empty: it does not say.
func whatToWrite(problem string) (what, fix string) {
	if what, write, ok := strings.Cut(problem, "; write "); ok {
		return what, "write " + write
	}
	if what, write, ok := strings.Cut(problem, ", as in "); ok {
		return what, "write it as in " + write
	}
	return problem, ""
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

// between wants so many arguments.
func between(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		if len(args) < low {
			return badUsage("usage: "+cmd.UseLine(), "%s is missing", what)
		}
		return badUsage("usage: "+cmd.UseLine(), "%q is one argument too many", args[high])
	}
}

// bulkID requires the id of a bulk action, and explains it to a caller who gives a name.
func bulkID(cmd *cobra.Command, args []string) error {
	if err := between(1, 1, "ID")(cmd, args); err != nil {
		return err
	}
	if !strings.HasPrefix(args[0], "ba_") {
		return badUsage(cmd.Root().Name()+" list shows the ids", "%q is not the id of a bulk action: ids begin with ba_", args[0])
	}
	return nil
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
	return badUsage(fix, "unknown command %q", args[0])
}
