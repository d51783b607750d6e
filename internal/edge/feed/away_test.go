package feed_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/feed"
)

// nothingAt returns an address at which nothing listens.
func nothingAt(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestASourceThatIsAwayIsToldInPlainWords(t *testing.T) {
	rules, err := egress.ParseAllow("allow", []string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	g := egress.New(egress.Policy{Allow: rules})
	t.Cleanup(g.CloseIdleConnections)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for at, want := range map[string]string{nothingAt(t): "the connection was refused", silent.Addr().String(): "no answer came in time"} {
		for name, r := range map[string]*rig{
			"segment":  {spec: feed.Spec{Segment: &feed.Segment{URL: "http://" + at}}},
			"postgres": {spec: feed.Spec{Postgres: &feed.Postgres{Connection: "c", Query: "SELECT 1 AS id", Key: "id"}}, conn: feed.Connection{Kind: feed.KindPostgres, Address: at, Plain: true}},
			"object":   {spec: feed.Spec{Object: &feed.Object{Connection: "c", Bucket: "bucket", Key: "k"}}, conn: feed.Connection{Kind: feed.KindS3, Address: "http://" + at, Region: "r"}},
			"kafka":    {spec: feed.Spec{Kafka: &feed.Kafka{Connection: "c", Topic: "t"}}, conn: feed.Connection{Kind: feed.KindKafka, Address: at, Plain: true}},
		} {
			if name == "kafka" && at == silent.Addr().String() {
				continue // its client waits 10 s for an answer, whatever the timeout is
			}
			t.Run(name+", "+want, func(t *testing.T) {
				r.spec.Timeout = api.Duration(time.Second)
				f, err := feed.Open(r.spec, func(string) (feed.Connection, error) { return r.conn, nil }, feed.World{Client: g.Client(0), Dial: g.DialContext, Now: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				_, err = f.Read(t.Context(), "")
				isTransient(t, err, 0)
				later, _ := errors.AsType[*feed.TransientError](err)
				if got := later.Plainly(); !strings.HasPrefix(got, "cannot ") || !strings.Contains(got, want) || strings.Contains(got, "dial tcp") {
					t.Errorf("told %q, want %q", got, want)
				}
			})
		}
	}
}

func TestAHostThatDoesNotExistIsTold(t *testing.T) {
	away := &net.DNSError{Err: "no such host", Name: "crm.invalid", IsNotFound: true}
	client := &http.Client{Transport: failing{away}}
	f, err := feed.Open(feed.Spec{Segment: &feed.Segment{URL: "http://crm.invalid/seg"}}, nil, feed.World{Client: client, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.Read(t.Context(), "")
	later, ok := errors.AsType[*feed.TransientError](err)
	if !ok {
		t.Fatalf("error = %v (%T), want a transient one", err, err)
	}
	if got, want := later.Plainly(), `cannot ask crm.invalid: there is no host with the name "crm.invalid"`; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// failing is a transport that cannot connect.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
