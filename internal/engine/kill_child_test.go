//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/recorder"
	"github.com/weirhq/weir/store/pebblestore"
)

// What the run of the kill tests looks like. A call takes about killLatency, so
// that about killSlots x killBatch items are on their way at any moment.
const (
	killSeed     = 1
	killSlots    = 8
	killBatch    = 50
	killLatency  = 15 * time.Millisecond
	killAttempts = 5
)

// The children are this test binary again; what they shall do is in their environment.
const (
	envRole   = "WEIR_KILL_ROLE" // recorder or engine
	envDir    = "WEIR_KILL_DIR"
	envURL    = "WEIR_KILL_URL"
	envLife   = "WEIR_KILL_LIFE"
	envItems  = "WEIR_KILL_ITEMS"
	childTest = "TestKillChild"
)

// exitStopped is the exit code of an engine that was told to stop and did so cleanly.
const exitStopped = 3

// TestKillChild is not a test of its own: it is what the children of the kill
// tests run, and does nothing in any other process.
func TestKillChild(*testing.T) {
	var err error
	code := 0
	switch os.Getenv(envRole) {
	case "":
		return
	case "recorder":
		err = runRecorder()
	case "engine":
		code, err = runEngine()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// say tells the parent how far the child is.
func say(word string, args ...any) { fmt.Println(append([]any{word}, args...)...) }

// runRecorder serves until its standard input ends, that is until its parent says so or dies.
func runRecorder() error {
	log, err := recorder.CreateLog(logFile(os.Getenv(envDir)))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:  recorder.NewServer(log, recorder.Options{Seed: killSeed, Latency: killLatency}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // callers die: that is no news
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	say("ready", "http://"+l.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := srv.Shutdown(context.Background()); err != nil {
		return err
	}
	<-ended
	return log.Close()
}

// runEngine does the whole job, from wherever the life before left it.
func runEngine() (code int, err error) {
	say("up")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir := os.Getenv(envDir)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	st, err := pebblestore.Open(dir+"/store", pebblestore.Options{Logger: quiet, Ballast: -1, MinFree: -1})
	if err != nil {
		return 0, err
	}
	e, err := engine.Open(context.Background(), st, engine.Options{Slots: killSlots, Logger: quiet})
	if err != nil {
		return 0, err
	}
	chain := killChain(os.Getenv(envURL), os.Getenv(envLife))
	if err := e.Handle(chain); err != nil {
		return 0, err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(running) }()
	finished, err := finish(ctx, e, chain, dir)
	cancel()
	if failed := <-ended; failed != nil {
		return 0, failed
	}
	if closed := st.Close(); closed != nil {
		return 0, closed
	}
	if ctx.Err() != nil && !finished {
		return exitStopped, nil
	}
	return 0, err
}

// finish submits, waits for the end and writes the report.
func finish(ctx context.Context, e *engine.Engine, chain weir.Chain[recorder.Data, recorder.Answer], dir string) (bool, error) {
	n, err := strconv.Atoi(os.Getenv(envItems))
	if err != nil {
		return false, err
	}
	b, err := engine.Submit(ctx, e, chain, killItems(n), weir.Spec{IdempotencyKey: "the-one"})
	if err != nil {
		return false, err
	}
	say("accepted", b.ID())
	r, err := b.Wait(ctx)
	if err != nil {
		return false, err
	}
	return true, r.WriteDir(context.WithoutCancel(ctx), reportDir(dir))
}

func killChain(url, life string) weir.Chain[recorder.Data, recorder.Answer] {
	header := map[string]string{recorder.LifeHeader: life}
	retry := weir.Backoff{MaxAttempts: killAttempts, Base: 50 * time.Millisecond, Cap: 200 * time.Millisecond}
	award := weir.HTTPAction[recorder.Data, recorder.Answer]{
		Name: recorder.Award, BatchSize: killBatch, Retry: retry, URL: url + "/award", Header: header,
	}
	message := weir.HTTPAction[recorder.Data, recorder.Answer]{
		Name: recorder.Message, BatchSize: killBatch, Retry: retry, URL: url + "/message", Header: header,
	}
	return weir.Then(weir.Start(award.Action()), message.Action(),
		func(it weir.Item[recorder.Data], out recorder.Answer) recorder.Data {
			return recorder.Data{User: it.Value.User, Award: out.Receipt}
		})
}

func killID(i int) string { return "u" + strconv.Itoa(i) }

func killItems(n int) iter.Seq2[weir.Item[recorder.Data], error] {
	return func(yield func(weir.Item[recorder.Data], error) bool) {
		for i := range n {
			if !yield(weir.Item[recorder.Data]{ID: killID(i), Value: recorder.Data{User: killID(i)}}, nil) {
				return
			}
		}
	}
}

func logFile(dir string) string   { return dir + "/calls.log" }
func reportDir(dir string) string { return dir + "/report" }
