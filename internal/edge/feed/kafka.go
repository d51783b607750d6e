package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/weirhq/weir"
)

// kafka reads the partitions of a topic one after the other, so that the same cursor means the same records.
type kafka struct {
	spec   Spec
	opts   []kgo.Opt
	client *kgo.Client // nil until the first read, and after an error

	reads  bool // a partition is assigned to client
	pos    kafkaPart
	behind []*kgo.Record // taken from client and not yet used; the first is at pos
}

// kafkaPart is the unread part of a partition.
type kafkaPart struct {
	Partition int32 `json:"p"`
	At        int64 `json:"at"`
	End       int64 `json:"end"` // as it was at the first read
}

// kafkaPlace is the cursor of a topic: the partitions with records left.
type kafkaPlace struct {
	Parts []kafkaPart `json:"parts"`
}

func openKafka(s Spec, find Lookup, w World) (Feed, error) {
	c, err := find.connection(s.Kafka.Connection, "kafka.connection", KindKafka)
	if err != nil {
		return nil, err
	}
	brokers, dial, sign := c.Brokers(w)
	f := &kafka{spec: s, opts: append([]kgo.Opt{
		kgo.ClientID("weir"),
		kgo.SeedBrokers(brokers...),
		kgo.Dialer(dial),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),                    // a partition may end with one, and its end must be detected
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // missing records are reported, not skipped
		kgo.FetchMaxBytes(PageBytes), kgo.FetchMaxPartitionBytes(PageBytes),
		kgo.MaxConcurrentFetches(1),
		kgo.MetadataMinAge(100 * time.Millisecond),
		// within one read
		kgo.RetryBackoffFn(func(tries int) time.Duration { return min(50*time.Millisecond<<min(tries, 6), 2*time.Second) }),
	}, sign...)}
	if err := kgo.ValidateOpts(f.opts...); err != nil {
		in := &weir.InputError{}
		in.Add("bad_connection", "kafka.connection", err.Error(), "write its address as host:port,host:port")
		return nil, in
	}
	return f, nil
}

// Brokers returns how to reach the brokers of a connection of kind kafka: their addresses, how
// to dial them, and the authentication.
func (c Connection) Brokers(w World) (brokers []string,
	dial func(ctx context.Context, network, address string) (net.Conn, error), sign []kgo.Opt) {
	dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return w.dialTLS(ctx, c, network, address)
	}
	switch c.SASL {
	case "plain":
		sign = append(sign, kgo.SASL(plain.Auth{User: c.User, Pass: reveal(c.Password)}.AsMechanism()))
	case "scram-sha-256":
		sign = append(sign, kgo.SASL(scram.Auth{User: c.User, Pass: reveal(c.Password)}.AsSha256Mechanism()))
	case "scram-sha-512":
		sign = append(sign, kgo.SASL(scram.Auth{User: c.User, Pass: reveal(c.Password)}.AsSha512Mechanism()))
	}
	return strings.Split(c.Address, ","), dial, sign
}

// Close ends the sessions with the brokers.
func (f *kafka) Close() error {
	if f.client != nil {
		f.client.Close()
	}
	f.client, f.reads, f.behind = nil, false, nil
	return nil
}

// Read takes the next records.
func (f *kafka) Read(ctx context.Context, from Cursor) (Page, error) {
	var at kafkaPlace
	if err := from.decode(KindKafka, &at); err != nil {
		return Page{}, err
	}
	if from != "" && len(at.Parts) == 0 {
		return Page{Next: from, Last: true}, nil
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(f.spec.Timeout))
	defer cancel()
	p, err := f.page(limited, from == "", at)
	if err != nil {
		_ = f.Close() // start with new sessions
		return Page{}, f.explain(ctx, err)
	}
	return p, nil
}

func (f *kafka) page(ctx context.Context, first bool, at kafkaPlace) (Page, error) {
	if f.client == nil {
		client, err := kgo.NewClient(f.opts...)
		if err != nil {
			return Page{}, err
		}
		f.client = client
	}
	if first {
		parts, err := f.bounds(ctx)
		if err != nil {
			return Page{}, err
		}
		at.Parts = parts
	}
	return f.fill(ctx, at)
}

// fill reads records until the page is full or nothing is left.
func (f *kafka) fill(ctx context.Context, at kafkaPlace) (p Page, err error) {
	for size := 0; len(p.Items) < f.spec.PageSize && size < PageBytes; {
		for len(at.Parts) > 0 && at.Parts[0].At >= at.Parts[0].End {
			at.Parts = at.Parts[1:]
		}
		if len(at.Parts) == 0 {
			break
		}
		r, err := f.next(ctx, at.Parts[0])
		if err != nil && ctx.Err() != nil && len(p.Items) > 0 {
			break // a partial page is enough
		}
		if err != nil {
			return Page{}, err
		}
		at.Parts[0].At = r.Offset + 1
		if r.Offset >= at.Parts[0].End || r.Attrs.IsControl() {
			continue
		}
		if r.Value == nil {
			p.Skipped++
			continue
		}
		it, bad := f.item(r)
		if bad != nil && f.spec.SkipBad {
			p.skip(bad, r.Value)
			continue
		}
		if bad != nil {
			bad.Where = fmt.Sprintf("partition %d, offset %d", r.Partition, r.Offset)
			return Page{}, bad
		}
		p.Items = append(p.Items, it)
		size += len(it.Value)
	}
	p.Next, p.Last = encode(KindKafka, at), len(at.Parts) == 0
	return p, nil
}

// next returns the first record at or behind the place in a partition.
func (f *kafka) next(ctx context.Context, want kafkaPart) (*kgo.Record, error) {
	if !f.reads || f.pos.Partition != want.Partition || f.pos.At != want.At {
		f.assign(want)
	}
	for len(f.behind) == 0 {
		fetches := f.client.PollRecords(ctx, f.spec.PageSize)
		for _, e := range fetches.Errors() {
			return nil, e.Err
		}
		for r := range fetches.RecordsAll() {
			if r.Partition == want.Partition && r.Offset >= want.At {
				f.behind = append(f.behind, r)
			}
		}
	}
	r := f.behind[0]
	f.behind = f.behind[1:]
	f.pos.At = r.Offset + 1
	return r, nil
}

// assign makes the client read one partition from a place on, and nothing else.
func (f *kafka) assign(to kafkaPart) {
	topic := f.spec.Kafka.Topic
	if f.reads {
		f.client.RemoveConsumePartitions(map[string][]int32{topic: {f.pos.Partition}})
	}
	f.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {to.Partition: kgo.NewOffset().At(to.At)}})
	f.reads, f.pos, f.behind = true, to, nil
}

func (f *kafka) item(r *kgo.Record) (weir.RawItem, *PermanentError) {
	doc := bytes.Clone(r.Value)
	if f.spec.Kafka.IDFromKey {
		return itemOf(string(r.Key), doc, "key")
	}
	return item(doc, f.spec.ID)
}

// bounds returns the present start and end of each partition.
func (f *kafka) bounds(ctx context.Context) ([]kafkaPart, error) {
	adm, topic := kadm.NewClient(f.client), f.spec.Kafka.Topic
	ends, err := adm.ListCommittedOffsets(ctx, topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		return nil, err
	}
	var starts kadm.ListedOffsets
	if since := f.spec.Kafka.Since; since != nil {
		starts, err = adm.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topic)
	} else {
		starts, err = adm.ListStartOffsets(ctx, topic)
	}
	if err = errors.Join(err, starts.Error()); err != nil {
		return nil, err
	}
	for p := range f.spec.Kafka.Offsets {
		if _, ok := ends[topic][p]; !ok {
			return nil, permanent(CodeNotFound, fmt.Sprintf("no partition %d", p), "check the offsets", nil)
		}
	}
	var parts []kafkaPart
	for p, end := range ends[topic] {
		part := kafkaPart{Partition: p, At: starts[topic][p].Offset, End: end.Offset}
		if at, ok := f.spec.Kafka.Offsets[p]; ok {
			part.At = at
		}
		if part.At < part.End {
			parts = append(parts, part)
		}
	}
	slices.SortFunc(parts, func(a, b kafkaPart) int { return int(a.Partition - b.Partition) })
	return parts, nil
}
