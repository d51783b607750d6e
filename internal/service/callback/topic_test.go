package callback

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/store/memstore"
)

// cluster starts brokers in memory, on loopback.
func cluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, "events")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// consume reads n records of a topic.
func consume(t *testing.T, c *kfake.Cluster, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("events"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var all []*kgo.Record
	for len(all) < n {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("read %d records of %d: %v", len(all), n, err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

// results is where a notifier's results go.
func results(o *Options) chan Result {
	c := make(chan Result, 100)
	o.Counted = func(r Result) { c <- r }
	return c
}

func TestEventsGoToATopicWithTheSameIDAndBytes(t *testing.T) {
	c, r := cluster(t), &receiver{}
	var done chan Result
	var dialled atomic.Int64
	n := open(t, memstore.New(memstore.Options{}), r, func(o *Options) {
		done = results(o)
		o.Topics = []Topic{{
			Name: "main", Brokers: c.ListenAddrs(), Topic: "events", Types: []string{TypeCompleted},
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				dialled.Add(1)
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
		}}
	})
	start(t, n)
	started := completed("ba_1")
	started.ID, started.Type = EventID("ba_1", TypeCanaryReady, 0), TypeCanaryReady
	note(t, n, started, nil) // not wanted
	note(t, n, completed("ba_1"), &Target{URL: hookURL})
	note(t, n, completed("ba_2"), nil)
	for range 3 {
		if got := <-done; got != ResultDelivered {
			t.Errorf("result = %s, want delivered", got)
		}
	}
	records := consume(t, c, 2)
	if len(records) != 2 || dialled.Load() == 0 {
		t.Fatalf("records = %d after %d dials, want 2 through the dialer", len(records), dialled.Load())
	}
	posted := r.got()[0]
	for _, rec := range records {
		if len(rec.Headers) != 2 || !strings.HasPrefix(string(rec.Headers[0].Value), "application/cloudevents+json") {
			t.Errorf("headers = %v", rec.Headers)
		}
		if string(rec.Key) == "ba_1" && (string(rec.Value) != posted.body || string(rec.Headers[1].Value) != posted.id) {
			t.Errorf("record = %s with id %s, the webhook was %s with %s", rec.Value, rec.Headers[1].Value, posted.body, posted.id)
		}
	}
	p, err := n.List(t.Context(), Query{Endpoint: "topic_main"})
	if err != nil || len(p.Deliveries) != 2 || p.Deliveries[0].Kind != KindKafka || p.Deliveries[0].State != Delivered {
		t.Errorf("deliveries = %+v, %v, want two that were delivered", p.Deliveries, err)
	}
	if d, err := n.Test(t.Context(), "topic_main"); err != nil || d.State != Delivered {
		t.Errorf("Test = %+v, %v, want delivered", d, err)
	}
}

func TestTopicsByTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(nil) // for its certificate
	defer srv.Close()
	c := cluster(t, kfake.TLS(&tls.Config{Certificates: srv.TLS.Certificates}))
	for _, tt := range []struct {
		name  string
		trust bool
		want  State
	}{{"trusted brokers", true, Delivered}, {"untrusted brokers", false, Failed}} {
		t.Run(tt.name, func(t *testing.T) {
			config := &tls.Config{MinVersion: tls.VersionTLS12}
			if tt.trust {
				config.RootCAs = srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			}
			n := open(t, memstore.New(memstore.Options{}), &receiver{}, func(o *Options) {
				o.Timeout = 2 * time.Second
				o.Topics = []Topic{{Name: "main", Brokers: c.ListenAddrs(), Topic: "events", TLS: config}}
			})
			d, err := n.Test(t.Context(), "topic_main")
			if err != nil || d.State != tt.want || d.Attempts[0].Took > 4*time.Second {
				t.Errorf("Test = %+v, %v, want %s in time", d, err, tt.want)
			}
		})
	}
}

func TestBrokersThatCannotBeReachedAreAFailureInTime(t *testing.T) {
	t.Parallel()
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, func(o *Options) {
		o.Timeout = time.Second
		o.Topics = []Topic{{
			Name: "main", Brokers: []string{"broker.example.com:9092"}, Topic: "events",
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") },
		}}
	})
	d, err := n.Test(t.Context(), "topic_main")
	if err != nil || d.State != Failed || d.Attempts[0].Code == "" || d.Attempts[0].Took > 3*time.Second {
		t.Errorf("Test = %+v, %v, want failed in time", d, err)
	}
}

// stalling is a connection from which nothing comes while it is stalled.
type stalling struct {
	net.Conn
	stalled *atomic.Bool
}

func (s stalling) Read(p []byte) (int, error) {
	for {
		n, err := s.Conn.Read(p)
		if err != nil || !s.stalled.Load() {
			return n, err
		}
	}
}

// A broker takes an event and says nothing: that attempt fails in time, and the
// event is written again, with the same id and bytes.
func TestABrokerThatFallsSilentIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	var stalled atomic.Bool
	var done chan Result
	n := open(t, memstore.New(memstore.Options{}), &receiver{}, func(o *Options) {
		done = results(o)
		o.Timeout = time.Second
		o.Topics = []Topic{{
			Name: "main", Brokers: c.ListenAddrs(), Topic: "events",
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				return stalling{conn, &stalled}, err
			},
		}}
	})
	if d, err := n.Test(t.Context(), "topic_main"); err != nil || d.State != Delivered {
		t.Fatalf("Test = %+v, %v, want delivered", d, err)
	}
	<-done
	start(t, n)
	stalled.Store(true)
	note(t, n, completed("ba_1"), nil)
	if r := <-done; r != ResultRetried {
		t.Errorf("result = %s, want retried", r)
	}
	stalled.Store(false)
	if r := <-done; r != ResultDelivered {
		t.Errorf("result = %s, want delivered", r)
	}
	var first string
	for _, rec := range consume(t, c, 2) {
		if string(rec.Key) != "ba_1" {
			continue
		}
		if first == "" {
			first = string(rec.Value)
		}
		if string(rec.Value) != first {
			t.Errorf("records of one event differ: %s and %s", rec.Value, first)
		}
	}
	if first == "" {
		t.Error("the event is not in the topic")
	}
}

func TestTopicsAreChecked(t *testing.T) {
	whole := Topic{Name: "a", Brokers: []string{"b:1"}, Topic: "events"}
	for name, topics := range map[string][]Topic{
		"no name": {{Brokers: []string{"b:1"}, Topic: "events"}}, "no brokers": {{Name: "a", Topic: "events"}},
		"no topic": {{Name: "a", Brokers: []string{"b:1"}}}, "the same name twice": {whole, whole},
	} {
		o := Options{Store: memstore.New(memstore.Options{}), Transport: &receiver{}, CheckURL: egress.New(egress.Policy{}).CheckURL, Topics: topics}
		if n, err := New(o); err == nil {
			n.Close()
			t.Errorf("%s: New = nil error", name)
		}
	}
}
