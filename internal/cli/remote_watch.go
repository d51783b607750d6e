package cli

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

// follower shows a bulk action of a server until nothing more happens to it by
// itself. It changes nothing, but for the key that pauses.
type follower struct {
	*link
	id     string
	screen *screen
	track  *track
	began  time.Time
	now    api.Progress
	keys   <-chan byte
}

// news is a progress update of a server, or an error.
type news struct {
	progress api.Progress
	err      error
}

// run follows it to its end, and returns what carries the exit code.
func (f *follower) run(ctx context.Context) error {
	b, err := f.Get(ctx, f.id)
	if err != nil {
		return err
	}
	f.screen, f.began = newScreen(f.env), b.StartedAt
	if f.began.IsZero() {
		f.began = time.Now()
	}
	f.track = &track{label: b.Name, steps: panelSteps(&b), deadline: b.Deadline}
	if b.State == api.Draft || b.State == api.Sealed {
		f.say("%s is %s and has not started; start it with %s start %s%s", f.id, b.State, f.env.Program, f.id, f.flag)
	}
	if err := f.follow(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return f.detached(exitInterrupted)
		}
		return err
	}
	return f.conclude(ctx)
}

// errDetached reports that the user detached.
var errDetached = &failure{code: exitOK}

// follow shows what comes until it has settled.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	come, over := make(chan news), make(chan struct{})
	go f.listen(ctx, come, over)
	defer func() { cancel(); <-over }()
	keys, restore := f.screen.keys()
	f.keys = keys
	defer restore()
	defer f.screen.print()
	every := drawEvery
	if !f.screen.live() {
		every = plainEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case n, more := <-come:
			if !more {
				return ctx.Err()
			}
			if n.err != nil {
				return n.err
			}
			if err := f.note(n.progress); err != nil || settled(n.progress) {
				return err
			}
		case <-tick.C:
			f.draw()
		case key := <-f.keys:
			if err := f.press(ctx, key); err != nil {
				return err
			}
		}
	}
}

// listen sends what the server tells, and closes both channels in the end.
func (f *follower) listen(ctx context.Context, come chan<- news, over chan<- struct{}) {
	defer close(over)
	defer close(come)
	for p, err := range f.Watch(ctx, f.id) {
		select {
		case come <- news{p, err}:
		case <-ctx.Done():
			return
		}
	}
}

// settled says whether nothing more happens by itself.
func settled(p api.Progress) bool {
	return p.State.Final() || p.State == api.Awaiting || p.State == api.Stopped && p.Counts.InFlight == 0
}

// progressLine is progress as it is printed: with the bulk action that it is of.
type progressLine struct {
	ID string `json:"id"`
	api.Progress
}

func (f *follower) note(p api.Progress) error {
	first := f.now.State == ""
	f.now = p
	f.track.note(time.Now(), panelProgress(p))
	if f.out == outJSON || f.out == outNDJSON {
		return json.NewEncoder(f.env.Stdout).Encode(progressLine{f.id, p})
	}
	if first && f.screen.live() {
		f.draw()
	}
	if line := newError([]*track{f.track}); line != "" && !f.screen.live() {
		f.screen.print(line)
	}
	return nil
}

func (f *follower) draw() {
	elapsed := time.Since(f.began)
	if !f.screen.live() {
		f.screen.print(plainLine([]*track{f.track}, elapsed))
		return
	}
	help := ""
	if f.keys != nil {
		help = "p pause   d detach"
		if f.now.State == api.Paused {
			help = "p resume  d detach"
		}
	}
	f.screen.draw(panel(f.screen.paint, f.env.Terminal.Width(), []*track{f.track}, elapsed, help))
}

// press acts on a key. Only the server can stop the work, so that ending the watching is all there is.
func (f *follower) press(ctx context.Context, key byte) error {
	switch key {
	case ctrlC:
		return f.detached(exitInterrupted)
	case 'd', 'D', 'q', 'Q':
		return f.detached(exitOK)
	case 'p', 'P':
		verb := f.Pause
		if f.now.State == api.Paused {
			verb = f.Resume
		}
		if _, err := verb(ctx, f.id, "key p"); err != nil {
			f.say("%v", err)
		}
	}
	return nil
}

// detached tells the user that the work continues.
func (f *follower) detached(code int) error {
	f.screen.draw(nil)
	f.say("detached; %s continues on %s", f.id, f.Server())
	f.say("watch again: %s watch %s%s", f.env.Program, f.id, f.flag)
	if code == exitOK {
		return errDetached
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
			Done: s.Done, Failed: s.Failed, LeftOut: s.LeftOut, Attempts: s.Attempts, Retries: s.Retries, Refused: s.Refused, Pending: s.Pending, Skipped: s.Skipped,
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
