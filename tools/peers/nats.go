package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	waiting   = 10 * time.Second
	inFlight  = 4000                 // messages that are published and not yet acknowledged
	idlePause = 2 * time.Millisecond // as weir's own measurement has it
	idleRest  = 500 * time.Millisecond
)

// queue is a JetStream server of this process, and a connection to it.
type queue struct {
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	jobs   jetstream.Consumer
}

// start starts a server on a free port of loopback, with a stream on disk that keeps a message until it is done.
func start(ctx context.Context, dir string) (q *queue, err error) {
	q = &queue{}
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true}
	if q.server, err = server.NewServer(o); err != nil {
		return nil, err
	}
	q.server.Start()
	if !q.server.ReadyForConnections(waiting) {
		return nil, errors.New("the NATS server does not answer")
	}
	if q.conn, err = nats.Connect(q.server.ClientURL()); err != nil {
		return nil, err
	}
	if q.js, err = jetstream.New(q.conn, jetstream.WithPublishAsyncMaxPending(inFlight)); err != nil {
		return nil, err
	}
	stream, err := q.js.CreateStream(ctx, jetstream.StreamConfig{Name: "JOBS", Subjects: []string{"jobs"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		return nil, err
	}
	q.jobs, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 20_000})
	return q, err
}

func (q *queue) stop() {
	q.conn.Close()
	q.server.Shutdown()
	q.server.WaitForShutdown()
}

// measure runs one measurement and prints what it found out.
func measure(ctx context.Context, name, dir string, items, batch int) error {
	q, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer q.stop()
	var f figures
	switch name {
	case "throughput":
		f, err = q.throughput(items, batch)
	case "idle":
		f, err = q.idle(ctx, items)
	default:
		err = fmt.Errorf("no measurement %q", name)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// throughput publishes items, batch of them in a message, to a handler that does nothing, until the last is done.
func (q *queue) throughput(items, batch int) (figures, error) {
	var done atomic.Int64
	all := make(chan struct{})
	sub, err := q.jobs.Consume(func(m jetstream.Msg) {
		if err := m.Ack(); err != nil {
			panic(err)
		}
		if done.Add(int64(batch)) == int64(items) { // the message is not even read, while weir reads every item
			close(all)
		}
	})
	if err != nil {
		return nil, err
	}
	defer sub.Stop()
	begin := time.Now()
	var body []byte
	for i := 0; i < items; i += batch {
		body = append(body[:0], '[')
		for n := i; n < min(i+batch, items); n++ {
			if n > i {
				body = append(body, ',')
			}
			body = append(strconv.AppendInt(append(body, `{"id":"user-`...), int64(n), 10), `","value":`...)
			body = append(appendReward(body, n), '}')
		}
		if _, err := q.js.PublishAsync("jobs", slices.Clone(append(body, ']'))); err != nil {
			return nil, err
		}
	}
	<-q.js.PublishAsyncComplete()
	accepted := time.Since(begin)
	<-all
	took := time.Since(begin)
	return figures{"per_second": float64(items) / took.Seconds(), "submit_ms": accepted.Seconds() * 1000}, nil
}

// idle publishes one item after the other, and measures how soon its handler is called.
func (q *queue) idle(ctx context.Context, items int) (figures, error) {
	began := make(chan time.Time, 1)
	sub, err := q.jobs.Consume(func(m jetstream.Msg) {
		began <- time.Now()
		_ = m.Ack() // a message that comes again would be measured as too early
	})
	if err != nil {
		return nil, err
	}
	defer sub.Stop()
	time.Sleep(idleRest)
	took, accepted := make([]float64, items), make([]float64, items)
	for i := range items {
		time.Sleep(idlePause)
		body := appendReward(nil, i)
		begin := time.Now()
		if _, err := q.js.Publish(ctx, "jobs", body); err != nil {
			return nil, err
		}
		accepted[i] = time.Since(begin).Seconds() * 1000
		took[i] = (<-began).Sub(begin).Seconds() * 1000
	}
	slices.Sort(took)
	slices.Sort(accepted)
	return figures{"p50_ms": took[items/2], "p99_ms": took[items*99/100], "submit_ms": accepted[items/2]}, nil
}

// appendReward writes the document that weir's own measurement has as well.
func appendReward(b []byte, i int) []byte {
	x := scramble(uint64(i) + 1)
	b = append(b, `{"email":"`...)
	b = appendLetters(b, x, 10)
	b = append(b, `@example.com","coupon":"`...)
	b = appendLetters(b, scramble(x), 12)
	b = append(b, `","amount":`...)
	b = strconv.AppendUint(b, x%100_000, 10)
	return append(b, `,"lang":"en"}`...)
}

func appendLetters(b []byte, x uint64, n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	for range n {
		b = append(b, letters[x&31])
		x >>= 5
	}
	return b
}

func scramble(x uint64) uint64 {
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 32
	x *= 0xD6E8FEB86659FD93
	return x ^ x>>32
}
