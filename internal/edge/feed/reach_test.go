package feed_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/feed"
)

func contextThatEnded(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// guarded opens what r describes in the world of a server: every connection goes through the guard.
func guarded(t *testing.T, r *rig) feed.Feed {
	t.Helper()
	g := egress.New(egress.Policy{})
	t.Cleanup(g.CloseIdleConnections)
	f, err := feed.Open(r.spec, func(string) (feed.Connection, error) { return r.conn, nil },
		feed.World{Client: g.Client(0), Dial: g.DialContext, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestNoSourceReachesWhatTheGuardForbids(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().String()
	for name, r := range map[string]*rig{
		"segment":  {spec: feed.Spec{Segment: &feed.Segment{URL: "http://" + at}}},
		"postgres": {spec: feed.Spec{Postgres: &feed.Postgres{Connection: "c", Query: "SELECT 1 AS id", Key: "id"}}, conn: feed.Connection{Kind: feed.KindPostgres, Address: at, Plain: true}},
		"object":   {spec: feed.Spec{Object: &feed.Object{Connection: "c", Bucket: "bucket", Key: "k"}}, conn: feed.Connection{Kind: feed.KindS3, Address: "http://" + at, Region: "r"}},
		"kafka":    {spec: feed.Spec{Kafka: &feed.Kafka{Connection: "c", Topic: "t"}}, conn: feed.Connection{Kind: feed.KindKafka, Address: at, Plain: true}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guarded(t, r).Read(t.Context(), "")
			isPermanent(t, err, egress.CodeNotAllowed)
			if strings.Contains(err.Error(), "loopback") {
				t.Errorf("error = %q tells what is there", err)
			}
		})
	}
}

func TestConnectionsTrustTheirOwnCertificates(t *testing.T) {
	srv := httptest.NewUnstartedServer(list("cursor", users(3)))
	srv.Config.ErrorLog = quiet()
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	k := &topic{t: t}
	var err error
	if k.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "users"), kfake.TLS(&tls.Config{Certificates: srv.TLS.Certificates})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.cluster.Close)
	secure := k.rig(t)
	secure.conn.Plain = false
	for name, r := range map[string]*rig{
		"segment": {
			t: t, spec: feed.Spec{Segment: &feed.Segment{Connection: "there", URL: "users"}},
			conn: feed.Connection{Kind: feed.KindHTTP, Address: srv.URL},
		},
		"kafka": secure,
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			r.spec.Timeout = api.Duration(time.Minute)
			_, err := r.first()
			isTransient(t, err, 0)
			if !strings.Contains(err.Error(), "certificate") {
				t.Errorf("error = %v, want that the certificate is unknown", err)
			}
			r.conn.CA = ca
			if p, err := r.first(); err != nil || !p.Last {
				t.Errorf("page = %+v, %v, want it with the right certificate", p, err)
			}
		})
	}
}
