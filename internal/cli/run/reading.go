package run

import (
	"errors"
	"time"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// interrupted says whether err is the user's wish.
func interrupted(err error) bool {
	f, ok := errors.AsType[*command.Failure](err)
	return ok && f.Code == command.ExitInterrupted
}

// showReading draws how far the input was read, until it ends or the user stops it.
func showReading(env *command.Env, scr *term.Screen, in *spec.Input, done <-chan error) error {
	tick := time.NewTicker(watch.DrawEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case err := <-done:
			scr.Draw(nil)
			return err
		case <-env.Signals:
			scr.Draw(nil)
			return errReading()
		case <-tick.C:
			switch {
			case scr.Live():
				scr.Draw([]string{in.Reading()})
			case time.Since(last) >= watch.PlainEvery:
				last = time.Now()
				scr.Print(in.Reading())
			}
		}
	}
}

// waitInput opens the input. Its first bytes may take their time, and an interrupt must not.
func waitInput(env *command.Env, o *spec.Options, lists spec.RowLists) (in *spec.Input, err error) {
	done := make(chan struct{})
	go func() {
		in, err = spec.OpenInput(env, &o.InputOptions, lists)
		close(done)
	}()
	select {
	case <-done:
		if err == nil {
			in.Unasked = o.Unasked
		}
		return in, err
	case <-env.Signals:
		return nil, errReading()
	}
}

// errReading is an interrupt before the input was read to its end.
func errReading() error {
	return command.Fail(command.ExitInterrupted, "interrupted while the input was being read: nothing was accepted",
		"run the same command again to start afresh")
}
