package manage

import (
	"context"
	"iter"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

var effects = command.NewView("bulk actions concerned", "id", "id, name, tenant, items, ends=ends_at, then=ends_at_then, text", "",
	command.Texts[api.EffectOn]{})

const dryRun = "change nothing: show when running bulk actions would end instead"

// printEffect shows what a change of limits would do to the bulk actions that run.
func printEffect(ctx context.Context, l *link.Link, what api.LimitChanges) error {
	e, err := l.Effect(ctx, what)
	if err != nil {
		return err
	}
	if e.LeftOut > 0 {
		l.Say("%s left out: there was no time to simulate more", term.Plural(int64(e.LeftOut), "bulk action is", "bulk actions are"))
	}
	return command.List(l.Printer, effects, each(e.BulkActions), 0)
}

// each yields the elements of a list.
func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}
