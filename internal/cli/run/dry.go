package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/watch"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/store/memstore"
)

// dryRun reads and checks everything, and runs nothing.
func dryRun(ctx context.Context, env *command.Env, o *runOptions, steps []weir.Step) error {
	rows := &spec.Skipped{}
	in, err := waitInput(env, &o.Options, rows)
	if err != nil {
		return err
	}
	defer in.Reader.Close()
	scr := env.Screen()
	done := make(chan error, 1)
	go func() {
		for _, err := range in.All(func() error { return ctx.Err() }) {
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	if err := showReading(env, scr, in, done); err != nil {
		return err
	}
	l, err := local.OpenMemory(ctx, env, memstore.New(memstore.Options{}), local.Options{Steps: steps, Slots: o.slots})
	if err != nil {
		return err
	}
	l.Run = "dry run" // the engine describes the chain of its own run only
	if err := o.mark(l.Run); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := l.Service().Drafts.CheckNew(stored.Of(&o.Spec), cmp.Or(o.Spec.Tenant, "default")); err != nil {
		return errors.Join(err, l.Close())
	}
	f, err := l.Service().Outlook.ForecastNew(ctx, o.Spec, in.Items.Load(), o.slots)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	scr.Print(append([]string{in.Line(scr.Paint)}, rows.Lines("")...)...)
	scr.Print(watch.ChainLine(scr.Paint, inChain(steps, o.Spec.Steps)), watch.ForecastLine(scr.Paint, &f), "",
		"  dry run: nothing was run")
	return l.Close()
}
