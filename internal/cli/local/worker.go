package local

import (
	"context"

	"github.com/weirhq/weir/internal/engine"
)

// Worker is an engine and its Run in the background.
type Worker struct {
	Engine *engine.Engine
	Stop   context.CancelFunc
	Over   chan struct{} // closed when Run has returned
	Err    error         // of Run
}

// Start lets the engine work until it is told to stop.
func (w *Worker) Start(ctx context.Context) {
	// The engine outlives the request or command that starts it: its end is a decision, see End.
	ctx, w.Stop = context.WithCancel(context.WithoutCancel(ctx))
	w.Over = make(chan struct{})
	go func() {
		defer close(w.Over)
		w.Err = w.Engine.Run(ctx)
	}()
}

// End lets running tasks finish. It can be called twice.
func (w *Worker) End() error {
	if w.Stop == nil {
		return nil
	}
	w.Stop()
	<-w.Over
	return w.Err
}
