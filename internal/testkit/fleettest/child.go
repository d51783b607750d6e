//go:build unix

package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/recorder"
	"github.com/weirhq/weir/store/redisstore"
)

// order is the task of a child.
type order struct {
	Role      string // recorder, node or campaign
	Log       string // file of the recorder, or of the node of a campaign
	URL       string // of the recorder
	Life      int    // of the node
	Addresses []string
	Config    Config
	Campaign  CampaignConfig
}

// Child does the work of this process if a [Fleet] started it, and does not return then. Call
// it first in main or TestMain.
func Child(ctx context.Context) {
	raw := os.Getenv(envOrder)
	if raw == "" {
		return
	}
	var o order
	err := json.Unmarshal([]byte(raw), &o)
	switch {
	case err != nil:
	case o.Role == "recorder":
		err = serve(ctx, o)
	case o.Role == "campaign":
		err = runNode(ctx, o)
	default:
		err = work(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ended:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// say sends a message to the parent.
func say(word, rest string) { fmt.Println(word, strings.ReplaceAll(rest, "\n", "; ")) }

// serve runs the recorder until its parent stops it or dies.
func serve(ctx context.Context, o order) error {
	log, err := recorder.CreateLog(o.Log)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler: recorder.NewServer(log, recorder.Options{Seed: seed, Latency: o.Config.Latency,
			NoRefusals: !o.Config.Refusals}),
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // callers die: their errors are expected
		ReadHeaderTimeout: time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	say("ready", "http://"+l.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	brief, cancel := context.WithTimeout(ctx, time.Second) // a frozen caller may keep a connection
	defer cancel()
	_ = srv.Shutdown(brief)
	<-ended
	return log.Close()
}

// work runs a node. It stops cleanly on request, and dies with its parent.
func work(ctx context.Context, o order) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := redisstore.Open(ctx, o.Config.store(o.Addresses, log))
	if err != nil {
		return err
	}
	e, err := engine.Open(ctx, s, engine.Options{
		Partitions: o.Config.Partitions, Slots: o.Config.Slots, Workers: o.Config.Workers, LeaseFor: o.Config.LeaseFor,
		Transport: stamped{execute.NewTransport()}, Logger: log,
	})
	if err != nil {
		return err
	}
	if err := e.Handle(o.Config.chain(o.URL, o.Life)); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	say("up", e.Name())
	err = report(e, ended)
	return errors.Join(err, s.Close())
}

// healthEvery is how often a node checks its own health.
const healthEvery = 20 * time.Millisecond

// report sends the node's health to the parent, until it has ended.
func report(e *engine.Engine, ended <-chan error) error {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for last := ""; ; {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		now := ""
		if err := e.Health(); err != nil {
			now = err.Error()
		}
		if now != last {
			say("health", now)
			last = now
		}
	}
}

// stamped tells the recorder when a call was taken up, derived from its deadline, and when it
// is made, right before it is.
type stamped struct{ http.RoundTripper }

// callFor is the timeout of a call.
const callFor = 20 * time.Second

// RoundTrip implements [http.RoundTripper].
func (s stamped) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if end, ok := r.Context().Deadline(); ok {
		r.Header.Set(recorder.PlannedHeader, strconv.FormatInt(end.Add(-callFor).UnixNano(), 10))
	}
	r.Header.Set(recorder.SentHeader, strconv.FormatInt(time.Now().UnixNano(), 10))
	return s.RoundTripper.RoundTrip(r)
}

// chain returns the steps award and message. Both use the one resource.
func (c Config) chain(url string, life int) weir.Chain[recorder.Data, recorder.Answer] {
	header := map[string]string{recorder.LifeHeader: strconv.Itoa(life)}
	retry := weir.Backoff{MaxAttempts: maxAttempts, Base: 20 * time.Millisecond, Cap: 100 * time.Millisecond}
	downstream := weir.Resource{Name: resource, Rate: weir.Rate(c.Rate)}
	award := weir.HTTPAction[recorder.Data, recorder.Answer]{
		Name: recorder.Award, BatchSize: c.Batch, Timeout: callFor, Retry: retry, Resource: downstream, URL: url + "/award",
		Header: header,
	}
	message := weir.HTTPAction[recorder.Data, recorder.Answer]{
		Name: recorder.Message, BatchSize: c.Batch, Timeout: callFor, Retry: retry, Resource: downstream, URL: url +
			"/message", Header: header,
	}
	return weir.Then(weir.Start(award.Action()), message.Action(),
		func(it weir.Item[recorder.Data], out recorder.Answer) recorder.Data {
			return recorder.Data{User: it.Value.User, Award: out.Receipt}
		})
}
