package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/edge/source"
)

// Failure describes how a command failed: the exit code, what
// happened and what to do next. With an empty what, all has been said already.
type Failure struct {
	Code int
	What string
	Fix  string
}

// Error tells what happened.
func (f *Failure) Error() string { return f.What }

// Print writes the failure to stderr: what happened, and below it what to do.
func (f *Failure) Print(env *Env) {
	if f.What == "" {
		return
	}
	p := term.Paint(!env.NoColour)
	fmt.Fprintf(env.Stderr, "%s %s\n", p.Red("error:"), term.TameText(f.What, "       "))
	if f.Fix != "" {
		fmt.Fprintf(env.Stderr, "%s   %s\n", p.Bold("fix:"), term.TameText(f.Fix, "       "))
	}
}

// Fail makes a failure.
func Fail(code int, what, fix string) *Failure {
	return &Failure{Code: code, What: what, Fix: fix}
}

// Ended is a failure about which everything has been printed.
func Ended(code int) error {
	if code == ExitOK {
		return nil
	}
	return &Failure{Code: code}
}

// BadUsage is an error in what the user asked for.
func BadUsage(fix, format string, args ...any) error {
	return Fail(ExitUsage, fmt.Sprintf(format, args...), fix)
}

// Other is an error that is not the user's.
func Other(err error, fix string) error { return Fail(ExitOther, err.Error(), fix) }

// Explain says what an error of the layers below means for the user.
func Explain(err error) *Failure {
	var row *source.RowError
	var input *source.InputError
	var conf *config.Error
	var confs *config.Errors
	var problem *api.Problem
	var away *client.UnreachableError
	var field *weir.FieldError
	var many *weir.InputError
	switch {
	case errors.Is(err, ErrTooLong):
		return Fail(ExitTimeout, err.Error(), "")
	case errors.As(err, &away) && !errors.Is(err, context.Canceled):
		return Fail(ExitUnreachable, away.Error(), "check the address (--server, "+ServerVariable+"), and that the server is up")
	case errors.As(err, &problem):
		return Refusal(problem)
	case errors.Is(err, context.Canceled):
		return Fail(ExitInterrupted, "interrupted", "run the same command again")
	case errors.As(err, &input):
		return Fail(ExitUsage, inputProblem(input), input.Fix)
	case errors.As(err, &row):
		return Fail(ExitUsage, err.Error(), "")
	case errors.As(err, &confs): // before conf, which is its first
		return Fail(ExitUsage, confs.Error(), "")
	case errors.As(err, &conf):
		return Fail(ExitUsage, conf.Error(), "")
	case errors.As(err, &many):
		return Fail(ExitUsage, many.Error(), "")
	case errors.As(err, &field):
		return Fail(ExitUsage, strings.TrimPrefix(field.Field+": "+field.Problem, ": "), field.Fix)
	case errors.Is(err, fs.ErrPermission):
		return Fail(ExitOther, err.Error(), "check its owner and permissions, or choose another place")
	}
	return Fail(ExitOther, err.Error(), "")
}

// Refusal tells what a server would not do: all faults, if there are several.
func Refusal(p *api.Problem) *Failure {
	f := Fail(exitRefused, cmp.Or(p.Detail, p.Title, p.Code), p.Fix)
	if len(p.Errors) > 1 {
		f.What = p.Title
		for _, e := range p.Errors {
			f.What += "\n" + FaultText(e)
		}
	}
	if p.Status == http.StatusUnauthorized {
		f.Fix = "set " + KeyFileVariable + ", or save a key with weir login"
	}
	if p.Status >= http.StatusInternalServerError && p.RequestID != "" {
		f.What += " (" + p.RequestID + ")"
	}
	return f
}

// FaultText writes a fault of a request in one line: where it is, what is wrong, what to do.
func FaultText(e api.Fault) string {
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

// WhatToWrite splits what is wrong with a value from what to write instead; empty: it does not say.
func WhatToWrite(problem string) (what, fix string) {
	if what, write, ok := strings.Cut(problem, "; write "); ok {
		return what, "write " + write
	}
	if what, write, ok := strings.Cut(problem, ", as in "); ok {
		return what, "write it as in " + write
	}
	return problem, ""
}

// LocalFailure makes what a node in this process refuses an error in what the user asked for.
func LocalFailure(err error) error {
	if err == nil {
		return nil
	}
	if f, said := errors.AsType[*Failure](err); said {
		return f
	}
	f := Explain(err)
	if f.Code == exitRefused {
		f.Code = ExitUsage
	}
	return f
}
