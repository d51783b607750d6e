package callback

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Topic is a Kafka topic that receives events.
type Topic struct {
	// Name identifies the topic; its endpoint's id is "topic_" and Name.
	Name    string
	Brokers []string
	Topic   string
	// Tenant is the tenant whose events it receives; empty for all tenants.
	Tenant string
	// Types are the event types it receives; none means all.
	Types []string
	// TLS configures TLS to the brokers. Default: without TLS.
	TLS *tls.Config
	// Dial makes the connections. Default: without a guard, which is right for brokers that the operator chose.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Options are further client options, such as SASL.
	Options []kgo.Opt
}

// dialTimeout bounds one connection to a broker, with its handshake.
const dialTimeout = 5 * time.Second

// producer writes to one topic.
type producer struct {
	Topic
	client *kgo.Client
}

func (t Topic) wants(ev Event) bool {
	return (t.Tenant == "" || t.Tenant == ev.Tenant) && (len(t.Types) == 0 || slices.Contains(t.Types, ev.Type))
}

// addTopic creates the client of a topic. It connects at the first write.
func (s *sender) addTopic(t Topic) error {
	id := "topic_" + t.Name
	if t.Name == "" || t.Topic == "" || len(t.Brokers) == 0 || s.topics[id] != nil {
		return fmt.Errorf("callback: topic %q: it needs a unique name, brokers and a topic", t.Name)
	}
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(t.Brokers...),
		kgo.DefaultProduceTopic(t.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), // and idempotent, which is the default
		kgo.RecordDeliveryTimeout(s.timeout),
		// A silent connection is closed with the attempt.
		kgo.ProduceRequestTimeout(s.timeout / 2),
		kgo.RequestTimeoutOverhead(s.timeout / 2),
		// An attempt ends in time; if its outcome is unknown, the event is resent with the same id.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.ClientID("weir"),
		kgo.Dialer(t.dial),
	}, t.Options...)...)
	if err != nil {
		return fmt.Errorf("callback: topic %q: %w", t.Name, err)
	}
	s.topics[id] = &producer{t, client}
	return nil
}

func (t Topic) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dial := t.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil || t.TLS == nil {
		return conn, err
	}
	config := t.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secured, nil
}

// produce writes a delivery. Events of one bulk action go to one partition, in which they keep
// their order unless one has to be retried.
func (p *producer) produce(ctx context.Context, d Delivery, body []byte) Attempt {
	done := make(chan error, 1)
	p.client.Produce(ctx, &kgo.Record{
		Key: []byte(d.BulkAction), Value: body,
		Headers: []kgo.RecordHeader{
			{Key: "content-type", Value: []byte(contentType)},
			{Key: "webhook-id", Value: []byte(d.Event)},
		},
	}, func(_ *kgo.Record, err error) { done <- err })
	var err error
	select {
	case err = <-done:
	case <-ctx.Done(): // the client may take longer to end; the attempt does not
		err = ctx.Err()
	}
	if err == nil {
		return Attempt{}
	}
	a := failure(ctx, err)
	if a.Code == CodeConnect {
		a.Code = CodeTopic
	}
	return a
}

func (p *producer) close() { p.client.Close() }
