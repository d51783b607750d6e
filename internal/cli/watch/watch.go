// Package watch shows bulk actions: as a row of a list, their progress until they end, their summary and their
// report. It is the same for bulk actions of a server and of a node in this process.
package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
)

// How often the panel is drawn, and a line is written without a terminal.
const (
	DrawEvery  = 100 * time.Millisecond
	PlainEvery = 10 * time.Second
)

// Watcher shows bulk actions until nothing more happens to them by itself. If they run in this process, it stops the
// engine when the user or a time limit asks for it; if they run on a server, only the watching ends.
type Watcher struct {
	*link.Link
	Screen *term.Screen
	Tracks []*Track
	Began  time.Time
	Limit  time.Duration // 0: none
	Here   *local.Worker // nil: a server does the work
	Broken <-chan error  // the store can no longer be trusted
	keys   <-chan byte
	paused bool
}

// End is why watching ended.
type End int

const (
	AllEnded End = iota
	Drained      // told to stop; running tasks have finished
	TimedOut     // the time limit was reached; running tasks have finished
	Aborted      // told to stop twice; running calls were not awaited
	Detached     // the work continues on a server
)

// news is a progress update of one track, or an error.
type news struct {
	track    *Track
	progress api.Progress
	err      error
}

// Run returns when every bulk action has settled, or the watching was ended.
func (w *Watcher) Run(ctx context.Context) (End, error) {
	ctx, cancel := context.WithCancel(ctx)
	come := w.listen(ctx)
	defer func() {
		cancel()
		for range come { // until all listeners have ended
		}
	}()
	keys, restore := w.Screen.Keys()
	w.keys = keys
	defer restore()
	defer w.Screen.Print()
	tick := time.NewTicker(w.every())
	defer tick.Stop()
	var late <-chan time.Time
	signals, over := w.stops()
	if w.Limit > 0 {
		timer := time.NewTimer(w.Limit)
		defer timer.Stop()
		late = timer.C
	}
	why := AllEnded
	if w.Screen.Live() {
		w.draw()
	}
	for {
		select {
		case n, more := <-come:
			if !more {
				return why, ctx.Err()
			}
			if n.err != nil {
				return Aborted, n.err
			}
			if err := w.note(ctx, n.track, n.progress); err != nil {
				return Aborted, err
			}
		case <-tick.C:
			w.draw()
		case key := <-w.keys:
			if !w.press(ctx, key) {
				continue
			}
			if w.Here == nil {
				return Detached, w.detach(key)
			}
			if why != AllEnded {
				return Aborted, nil
			}
			why = w.stopping(Drained)
		case <-signals:
			if why != AllEnded {
				return Aborted, nil
			}
			why = w.stopping(Drained)
		case <-late:
			if why == AllEnded {
				why = w.stopping(TimedOut)
			}
		case <-over:
			if why == AllEnded {
				return Aborted, command.Other(errors.Join(errors.New("the engine stopped before the run had ended"), w.Here.Err),
					"continue with --resume")
			}
			return why, nil
		case err := <-w.Broken:
			return Aborted, command.Other(err, "free space or repair the disk, then continue with --resume")
		}
	}
}

// stops returns what ends the work in this process: signals, and the end of the engine itself.
func (w *Watcher) stops() (signals <-chan os.Signal, over <-chan struct{}) {
	if w.Here == nil {
		return nil, nil // a signal has ended ctx
	}
	return w.Env.Signals, w.Here.Over
}

// listen sends news of all tracks until each has settled.
func (w *Watcher) listen(ctx context.Context) <-chan news {
	come := make(chan news)
	var wg sync.WaitGroup
	for _, t := range w.Tracks {
		wg.Go(func() {
			send := func(n news) bool {
				select {
				case come <- n:
					return true
				case <-ctx.Done():
					return false
				}
			}
			if err := t.find(ctx); err != nil {
				send(news{track: t, err: err})
				return
			}
			for p, err := range w.Watch(ctx, t.ID) {
				if !send(news{t, p, err}) || settled(p) {
					return
				}
			}
		})
	}
	go func() { wg.Wait(); close(come) }()
	return come
}

// settled says whether nothing more happens by itself.
func settled(p api.Progress) bool {
	return p.State.Final() || p.State == api.Awaiting || p.State == api.Stopped && p.Counts.InFlight == 0
}

func (w *Watcher) every() time.Duration {
	if w.Screen.Live() {
		return DrawEvery
	}
	return PlainEvery
}

// progressLine is progress as it is printed: with the bulk action that it is of.
type progressLine struct {
	ID string `json:"id"`
	api.Progress
}

// note takes news. A new kind of error is written at once where no panel shows it.
func (w *Watcher) note(ctx context.Context, t *Track, p api.Progress) error {
	first := t.state == ""
	t.state = p.State
	if first && w.paused {
		w.pause(ctx, t) // the key was pressed before it was there
	}
	t.note(time.Now(), p)
	if p.State.Final() && len(w.Tracks) > 1 { // its line says how long it took
		if b, err := w.Get(ctx, t.ID); err == nil {
			t.Started, t.Finished = b.StartedAt, b.FinishedAt
		}
	}
	if w.Out == command.JSON || w.Out == command.NDJSON {
		return json.NewEncoder(w.Env.Stdout).Encode(progressLine{t.ID, p})
	}
	if w.Screen.Live() {
		if first {
			w.draw()
		}
		return nil
	}
	if line := newError(w.Tracks); line != "" {
		w.Screen.Print(line)
	}
	return nil
}

func (w *Watcher) draw() {
	elapsed := time.Since(w.Began)
	if !w.Screen.Live() {
		w.Screen.Print(plainLine(w.Tracks, elapsed))
		return
	}
	help := ""
	if w.keys != nil {
		help = "p pause   "
		if w.paused {
			help = "p resume  "
		}
		if w.Here == nil {
			help += "d detach"
		} else {
			help += "q stop"
		}
	}
	w.Screen.Draw(panel(w.Screen.Paint, w.Env.Terminal.Width(), w.Tracks, elapsed, help))
}

// CtrlC is the byte that a terminal sends for Ctrl-C while single keys are read.
const CtrlC = 3

// press acts on a key and says whether to stop.
func (w *Watcher) press(ctx context.Context, key byte) (stop bool) {
	switch key {
	case 'q', 'Q', 'd', 'D', CtrlC:
		return w.Here == nil || key != 'd' && key != 'D'
	case 'p', 'P':
		w.paused = !w.paused
		for _, t := range w.Tracks {
			w.pause(ctx, t)
		}
	}
	return false
}

// pause pauses a bulk action or lets it continue. One that has not begun yet, or has ended, is left alone.
func (w *Watcher) pause(ctx context.Context, t *Track) {
	if t.state == "" || t.state.Final() {
		return
	}
	verb := w.Resume
	if w.paused {
		verb = w.Pause
	}
	if _, err := verb(ctx, t.ID, "key p"); err != nil {
		w.Say("%v", err)
	}
}

// stopping lets the engine end: running tasks finish.
func (w *Watcher) stopping(why End) End {
	cause := "stopping"
	if why == TimedOut {
		cause = "--run-timeout was reached; stopping"
	}
	w.Screen.Print("  " + w.Screen.Paint.Yellow(cause) + ": running calls finish; press again to abort")
	w.Here.Stop()
	return why
}

// detach tells the user that the work continues.
func (w *Watcher) detach(key byte) error {
	w.Screen.Draw(nil)
	for _, t := range w.Tracks {
		w.Say("detached; %s continues on %s", t.ID, w.Server())
		w.Say("watch again: %s watch %s%s", w.Env.Program, t.ID, w.Flag)
	}
	if key == CtrlC {
		return command.Ended(command.ExitInterrupted)
	}
	return errDetached
}

// errDetached reports that the user detached.
var errDetached = &command.Failure{Code: command.ExitOK}

// ToEnd shows a bulk action of a server until its end, and returns what carries the exit code.
func ToEnd(ctx context.Context, l *link.Link, id string) error {
	b, err := l.Get(ctx, id)
	if err != nil {
		return err
	}
	w := &Watcher{Link: l, Screen: l.Env.Screen(), Began: b.StartedAt, paused: b.State == api.Paused}
	if w.Began.IsZero() {
		w.Began = time.Now()
	}
	t := &Track{ID: id, Label: b.Name, Steps: panelSteps(&b), Deadline: b.Deadline}
	w.Tracks = []*Track{t}
	if b.State == api.Draft || b.State == api.Sealed {
		l.Say("%s is %s and has not started; start it with %s start %s%s", id, b.State, l.Env.Program, id, l.Flag)
	}
	if _, err := w.Run(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return w.detach(CtrlC)
		}
		return err
	}
	b.State = t.state
	code, err := Conclude(ctx, l, w.Screen, &Running{Bulk: b})
	if err != nil {
		return err
	}
	return command.Ended(code)
}

// panelSteps are the steps as the panel wants them, with the rates that the bulk action has of its own.
func panelSteps(b *api.BulkAction) (steps []weir.Step) {
	for _, s := range b.Steps {
		steps = append(steps, weir.Step{Name: spec.StepName(s), Resource: weir.Resource{Rate: weir.Rate(b.Rates[spec.StepName(s)])}})
	}
	return steps
}

// causeText continues a line with the words that the server has for a cause.
func causeText(c api.Cause) string {
	text := cmp.Or(c.Text, c.Reason) // an older server has no words
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToLower(first)) + text[size:]
	if c.Detail != "" && c.Reason != "failing" { // the last error has its line
		text += ": " + c.Detail
	}
	return text
}
