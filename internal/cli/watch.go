package cli

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// How often the panel is drawn, and a line is written without a terminal.
const (
	drawEvery  = 100 * time.Millisecond
	plainEvery = 10 * time.Second
)

// watcher shows bulk actions until they have ended, and stops the engine when
// the user or a time limit asks for it.
type watcher struct {
	screen  *screen
	tracks  []*track
	session stopper
	limit   time.Duration // 0: none
	started time.Time
	keys    <-chan byte
	paused  bool
	// left returns how long a bulk action still takes; 0 if unknown.
	left func(context.Context, *track, *weir.Progress) time.Duration
}

// stopper holds what the watcher may stop, and what may stop the watcher.
type stopper struct {
	stop    func()
	broken  <-chan error
	signals <-chan os.Signal
}

// end is why watching ended.
type end int

const (
	allEnded end = iota
	drained      // told to stop; running tasks have finished
	timedOut     // the time limit was reached; running tasks have finished
	aborted      // told to stop twice; running calls were not awaited
)

// update is news of one track.
type update struct {
	track *track
	bulk  *engine.BulkAction
	now   weir.Progress
	err   error
}

// watch returns when every bulk action has settled, or the engine was told to stop and has.
func (w *watcher) watch(ctx context.Context) (end, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	news := w.follow(ctx)
	keys, restore := w.screen.keys()
	w.keys = keys
	defer restore()
	defer w.screen.print()
	tick := time.NewTicker(w.every())
	defer tick.Stop()
	var late <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		late = timer.C
	}
	why := allEnded
	stop := func(reason end) {
		why = reason
		w.stopping(reason)
		w.session.stop()
	}
	w.draw()
	for {
		select {
		case u, more := <-news:
			if !more {
				return why, nil
			}
			if u.err != nil {
				return aborted, u.err
			}
			if u.track.bulk == nil {
				u.track.bulk = u.bulk
				u.track.pause(ctx, w.paused) // the key may have been pressed before it was there
			}
			u.now.Remaining = w.left(ctx, u.track, &u.now)
			u.track.note(time.Now(), u.now)
			w.tellError()
		case <-tick.C:
			w.tick()
		case key := <-w.keys:
			if w.press(ctx, key) {
				if why != allEnded {
					return aborted, nil
				}
				stop(drained)
			}
		case <-w.session.signals:
			if why != allEnded {
				return aborted, nil
			}
			stop(drained)
		case <-late:
			if why == allEnded {
				stop(timedOut)
			}
		case err := <-w.session.broken:
			return aborted, other(err, "free space or repair the disk, then continue with --resume")
		}
	}
}

// settled says whether nothing more happens to any bulk action by itself.
func (w *watcher) settled() bool {
	for _, t := range w.tracks {
		if s := t.now.State; !s.Final() && s != weir.BulkStopped {
			return false
		}
	}
	return true
}

// follow sends news of all tracks until each has settled.
func (w *watcher) follow(ctx context.Context) <-chan update {
	news := make(chan update)
	var wg sync.WaitGroup
	for _, t := range w.tracks {
		wg.Go(func() { t.follow(ctx, news) })
	}
	go func() { wg.Wait(); close(news) }()
	return news
}

func (t *track) follow(ctx context.Context, news chan<- update) {
	send := func(u update) bool {
		select {
		case news <- u:
			return true
		case <-ctx.Done():
			return false
		}
	}
	ba, err := t.open(ctx)
	if err != nil {
		send(update{track: t, err: err})
		return
	}
	for p := range ba.Progress(ctx) {
		if !send(update{t, ba, p, nil}) {
			return
		}
	}
}

func (w *watcher) every() time.Duration {
	if w.screen.live() {
		return drawEvery
	}
	return plainEvery
}

// tellError writes a new kind of error at once where no panel shows it.
func (w *watcher) tellError() {
	if w.screen.live() {
		return
	}
	if line := newError(w.tracks); line != "" {
		w.screen.print(line)
	}
}

func (w *watcher) tick() {
	if w.screen.live() {
		w.draw()
		return
	}
	w.screen.print(plainLine(w.tracks, time.Since(w.started)))
}

func (w *watcher) draw() {
	help := ""
	if w.keys != nil {
		help = "p pause   q stop"
		if w.paused {
			help = "p resume  q stop"
		}
	}
	if w.screen.live() {
		w.screen.draw(panel(w.screen.paint, w.screen.env.Terminal.Width(), w.tracks, time.Since(w.started), help))
	}
}

// ctrlC is the byte that a terminal sends for Ctrl-C while single keys are read.
const ctrlC = 3

// press acts on a key and says whether to stop.
func (w *watcher) press(ctx context.Context, key byte) (stop bool) {
	switch key {
	case 'q', 'Q', ctrlC:
		return true
	case 'p', 'P':
		w.paused = !w.paused
		for _, t := range w.tracks {
			t.pause(ctx, w.paused)
		}
	}
	return false
}

// pause pauses a bulk action or lets it go on. One that has not begun yet, or has ended, is left alone.
func (t *track) pause(ctx context.Context, paused bool) {
	if t.bulk == nil || t.paused == paused {
		return
	}
	t.paused = paused
	verb := t.bulk.Resume
	if paused {
		verb = t.bulk.Pause
	}
	_ = verb(ctx, "key p") // fails only if it has ended meanwhile
}

func (w *watcher) stopping(why end) {
	cause := "stopping"
	if why == timedOut {
		cause = "--run-timeout was reached; stopping"
	}
	w.screen.print("  " + w.screen.paint.yellow(cause) + ": running calls finish; press again to abort")
}
