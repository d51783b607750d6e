package watch

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

// Linked tells what was made of other bulk actions, and waits for its end.
func Linked(ctx context.Context, l *link.Link, made api.Linked, wait bool, timeout config.Span) error {
	if made.Skipped > 0 {
		l.Say("%s left out: their bulk actions still run", term.Plural(made.Skipped, "item", "items"))
	}
	if !wait {
		if l.Out == command.JSON {
			return command.PrintJSON(l.Env, made)
		}
		l.Say("%s in %s", term.Plural(made.Items, "item", "items"),
			term.Plural(int64(len(made.BulkActions)), "bulk action", "bulk actions"))
		return command.List(l.Printer, BulkView, command.Seq(made.BulkActions), 0)
	}
	ctx, cancel := command.Within(ctx, time.Duration(timeout))
	defer cancel()
	code := command.ExitOK
	for _, b := range made.BulkActions {
		err := command.TooLong(ctx, ToEnd(ctx, l, b.ID))
		f, ok := errors.AsType[*command.Failure](err)
		if err != nil && (!ok || f.Code != command.ExitSomeFailed && f.Code != command.ExitStopped) {
			return err
		}
		if ok {
			code = max(code, f.Code)
		}
	}
	return command.Ended(code)
}

// WaitForEnd is the help of --wait.
const WaitForEnd = "wait until it ends; the exit code tells the outcome"
