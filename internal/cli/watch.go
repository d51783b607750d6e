package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

// How often the panel is drawn, and a line is written without a terminal.
const (
	drawEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
)

// watcher shows bulk actions until nothing more happens to them by itself. If they run in this process, it stops the
// engine when the user or a time limit asks for it; if they run on a server, only the watching ends.
type watcher struct {
	*link
	screen *screen
	tracks []*track
	began  time.Time
	limit  time.Duration // 0: none
	here   *worker       // nil: a server does the work
	broken <-chan error  // the store can no longer be trusted
	keys   <-chan byte
	paused bool
}

// end is why watching ended.
type end int

const (
	allEnded end = iota
	drained      // told to stop; running tasks have finished
	timedOut     // the time limit was reached; running tasks have finished
	aborted      // told to stop twice; running calls were not awaited
	detached     // the work continues on a server
)

// news is a progress update of one track, or an error.
type news struct {
	track    *track
	progress api.Progress
	err      error
}

// watch returns when every bulk action has settled, or the watching was ended.
func (w *watcher) watch(ctx context.Context) (end, error) {
	ctx, cancel := context.WithCancel(ctx)
	come := w.listen(ctx)
	defer func() {
		cancel()
		for range come { // until all listeners have ended
		}
	}()
	keys, restore := w.screen.keys()
	w.keys = keys
	defer restore()
	defer w.screen.print()
	tick := time.NewTicker(w.every())
	defer tick.Stop()
	var late <-chan time.Time
	signals, over := w.stops()
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		late = timer.C
	}
	why := allEnded
	if w.screen.live() {
		w.draw()
	}
	for {
		select {
		case n, more := <-come:
			if !more {
				return why, ctx.Err()
			}
			if n.err != nil {
				return aborted, n.err
			}
			if err := w.note(ctx, n.track, n.progress); err != nil {
				return aborted, err
			}
		case <-tick.C:
			w.draw()
		case key := <-w.keys:
			if !w.press(ctx, key) {
				continue
			}
			if w.here == nil {
				return detached, w.detach(key)
			}
			if why != allEnded {
				return aborted, nil
			}
			why = w.stopping(drained)
		case <-signals:
			if why != allEnded {
				return aborted, nil
			}
			why = w.stopping(drained)
		case <-late:
			if why == allEnded {
				why = w.stopping(timedOut)
			}
		case <-over:
			if why == allEnded {
				return aborted, other(errors.Join(errors.New("the engine stopped before the run had ended"), w.here.err), "continue with --resume")
			}
			return why, nil
		case err := <-w.broken:
			return aborted, other(err, "free space or repair the disk, then continue with --resume")
		}
	}
}

// stops returns what ends the work in this process: signals, and the end of the engine itself.
func (w *watcher) stops() (signals <-chan os.Signal, over <-chan struct{}) {
	if w.here == nil {
		return nil, nil // a signal has ended ctx
	}
	return w.env.Signals, w.here.over
}

// listen sends news of all tracks until each has settled.
func (w *watcher) listen(ctx context.Context) <-chan news {
	come := make(chan news)
	var wg sync.WaitGroup
	for _, t := range w.tracks {
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
			for p, err := range w.Watch(ctx, t.id) {
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

func (w *watcher) every() time.Duration {
	if w.screen.live() {
		return drawEvery
	}
	return plainEvery
}

// progressLine is progress as it is printed: with the bulk action that it is of.
type progressLine struct {
	ID string `json:"id"`
	api.Progress
}

// note takes news. A new kind of error is written at once where no panel shows it.
func (w *watcher) note(ctx context.Context, t *track, p api.Progress) error {
	first := t.state == ""
	t.state = p.State
	if first && w.paused {
		w.pause(ctx, t) // the key was pressed before it was there
	}
	t.note(time.Now(), panelProgress(p))
	if p.State.Final() && len(w.tracks) > 1 { // its line says how long it took
		if b, err := w.Get(ctx, t.id); err == nil {
			t.now.Started, t.now.Finished = b.StartedAt, b.FinishedAt
		}
	}
	if w.out == outJSON || w.out == outNDJSON {
		return json.NewEncoder(w.env.Stdout).Encode(progressLine{t.id, p})
	}
	if w.screen.live() {
		if first {
			w.draw()
		}
		return nil
	}
	if line := newError(w.tracks); line != "" {
		w.screen.print(line)
	}
	return nil
}

func (w *watcher) draw() {
	elapsed := time.Since(w.began)
	if !w.screen.live() {
		w.screen.print(plainLine(w.tracks, elapsed))
		return
	}
	help := ""
	if w.keys != nil {
		help = "p pause   "
		if w.paused {
			help = "p resume  "
		}
		if w.here == nil {
			help += "d detach"
		} else {
			help += "q stop"
		}
	}
	w.screen.draw(panel(w.screen.paint, w.env.Terminal.Width(), w.tracks, elapsed, help))
}

// ctrlC is the byte that a terminal sends for Ctrl-C while single keys are read.
const ctrlC = 3

// press acts on a key and says whether to stop.
func (w *watcher) press(ctx context.Context, key byte) (stop bool) {
	switch key {
	case 'q', 'Q', 'd', 'D', ctrlC:
		return w.here == nil || key != 'd' && key != 'D'
	case 'p', 'P':
		w.paused = !w.paused
		for _, t := range w.tracks {
			w.pause(ctx, t)
		}
	}
	return false
}

// pause pauses a bulk action or lets it continue. One that has not begun yet, or has ended, is left alone.
func (w *watcher) pause(ctx context.Context, t *track) {
	if t.state == "" || t.state.Final() {
		return
	}
	verb := w.Resume
	if w.paused {
		verb = w.Pause
	}
	if _, err := verb(ctx, t.id, "key p"); err != nil {
		w.say("%v", err)
	}
}

// stopping lets the engine end: running tasks finish.
func (w *watcher) stopping(why end) end {
	cause := "stopping"
	if why == timedOut {
		cause = "--run-timeout was reached; stopping"
	}
	w.screen.print("  " + w.screen.paint.yellow(cause) + ": running calls finish; press again to abort")
	w.here.stop()
	return why
}

// detach tells the user that the work continues.
func (w *watcher) detach(key byte) error {
	w.screen.draw(nil)
	for _, t := range w.tracks {
		w.say("detached; %s continues on %s", t.id, w.Server())
		w.say("watch again: %s watch %s%s", w.env.Program, t.id, w.flag)
	}
	if key == ctrlC {
		return ended(exitInterrupted)
	}
	return errDetached
}

// errDetached reports that the user detached.
var errDetached = &failure{code: exitOK}

// watchToEnd shows a bulk action of a server until its end, and returns what carries the exit code.
func watchToEnd(ctx context.Context, l *link, id string) error {
	b, err := l.Get(ctx, id)
	if err != nil {
		return err
	}
	w := &watcher{link: l, screen: newScreen(l.env), began: b.StartedAt, paused: b.State == api.Paused}
	if w.began.IsZero() {
		w.began = time.Now()
	}
	t := &track{id: id, label: b.Name, steps: panelSteps(&b), deadline: b.Deadline}
	w.tracks = []*track{t}
	if b.State == api.Draft || b.State == api.Sealed {
		l.say("%s is %s and has not started; start it with %s start %s%s", id, b.State, l.env.Program, id, l.flag)
	}
	if _, err := w.watch(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return w.detach(ctrlC)
		}
		return err
	}
	b.State = t.state
	code, err := l.conclude(ctx, w.screen, &running{bulk: b})
	if err != nil {
		return err
	}
	return ended(code)
}

// panelSteps are the steps as the panel wants them, with the rates that the bulk action has of its own.
func panelSteps(b *api.BulkAction) (steps []weir.Step) {
	for _, s := range b.Steps {
		steps = append(steps, weir.Step{Name: stepName(s), Resource: weir.Resource{Rate: weir.Rate(b.Rates[stepName(s)])}})
	}
	return steps
}

// panelCounts is a bulk action as the panel shows it before there is any progress.
func panelCounts(b *api.BulkAction) weir.Progress {
	return weir.Progress{Counts: weir.Counts(b.Counts)}
}

// panelProgress is progress as the panel wants it.
func panelProgress(p api.Progress) weir.Progress {
	out := weir.Progress{Counts: weir.Counts(p.Counts), Rate: p.Rate, Remaining: time.Duration(p.ETA)}
	if p.State.Final() {
		out.State = weir.BulkCompleted
	}
	if p.LastError != nil {
		e := weir.LastError(*p.LastError)
		out.LastError = &e
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, weir.StepCounts{
			Done: s.Done, Failed: s.Failed, LeftOut: s.LeftOut, Attempts: s.Attempts, Retries: s.Retries, Refused: s.Refused,
			Pending: s.Pending, Skipped: s.Skipped,
		})
	}
	for _, c := range p.WaitingOn {
		out.WaitingOn = append(out.WaitingOn, causeText(c))
	}
	return out
}

// causeText puts a cause into words, with the resource's name.
func causeText(c api.Cause) string {
	text, ok := causes[c.Reason]
	switch {
	case c.Reason == "rate" && c.Resource != "":
		return "rate of " + c.Resource
	case !ok:
		text = c.Reason
	}
	if c.Resource != "" {
		text += " (" + c.Resource + ")"
	}
	if c.Detail != "" && c.Reason != "failing" { // the last error has its line
		text += ": " + c.Detail
	}
	return text
}
