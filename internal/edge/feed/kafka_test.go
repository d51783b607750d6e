package feed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/vault"
)

// topic is one of kfake, which stands in for a real Kafka: it speaks the protocol and was written by the authors of our
// client, so it shows that we use the client well, not how a real cluster behaves.
type topic struct {
	t       *testing.T
	cluster *kfake.Cluster
	client  *kgo.Client
}

func newTopic(t *testing.T, partitions int32, opts ...kfake.Opt) *topic {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.SeedTopics(partitions, "users"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic("users"), kgo.TransactionalID("t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &topic{t: t, cluster: c, client: client}
}

// put writes records as one transaction, which ends each partition with a control record.
func (k *topic) put(end kgo.TransactionEndTry, records ...*kgo.Record) {
	k.t.Helper()
	if err := k.client.BeginTransaction(); err != nil {
		k.t.Fatal(err)
	}
	if err := k.client.ProduceSync(k.t.Context(), records...).FirstErr(); err != nil {
		k.t.Fatal(err)
	}
	if err := k.client.EndTransaction(k.t.Context(), end); err != nil {
		k.t.Fatal(err)
	}
}

func (k *topic) rig(t *testing.T) *rig {
	return &rig{t: t, spec: feed.Spec{Kafka: &feed.Kafka{Connection: "there", Topic: "users"}}, conn: feed.Connection{
		Kind: feed.KindKafka, Address: strings.Join(k.cluster.ListenAddrs(), ","), Plain: true,
	}}
}

func record(partition int32, key, value string) *kgo.Record {
	return &kgo.Record{Partition: partition, Key: []byte(key), Value: []byte(value)}
}

// spread puts items into partitions and returns them in the order in which they are read.
func (k *topic) spread(items []weir.RawItem, partitions int) []weir.RawItem {
	k.t.Helper()
	parts := make([][]weir.RawItem, partitions)
	var records []*kgo.Record
	for i, it := range items {
		p := (i + i/10) % partitions
		parts[p] = append(parts[p], it)
		records = append(records, record(int32(p), it.ID, string(it.Value)))
	}
	k.put(kgo.TryCommit, records...)
	var order []weir.RawItem
	for _, p := range parts {
		order = append(order, p...)
	}
	return order
}

func TestATopicIsReadExactlyOnceThroughCrashes(t *testing.T) {
	k := newTopic(t, 5)
	want := k.spread(users(many()), 4) // the fifth stays empty
	k.put(kgo.TryAbort, record(1, "x", `{"id":"never happened"}`))
	r := k.rig(t)
	r.spec.PageSize = len(want)/12 + 1
	r.survives(want, int64(r.spec.PageSize)*120)
}

func TestATopicIsReadToTheEndThatItHadAtFirst(t *testing.T) {
	k := newTopic(t, 2)
	want := k.spread(users(100), 2)
	r := k.rig(t)
	r.spec.PageSize = 30
	p, err := r.first()
	if err != nil {
		t.Fatal(err)
	}
	k.spread(users(100), 2)
	rest, _ := r.readOn(p.Next, true)
	sameItems(t, "before and after more came", append(p.Items, rest...), want)
}

func TestATopicMayStartLater(t *testing.T) {
	k := newTopic(t, 2)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var records []*kgo.Record
	for i := range 20 {
		r := record(int32(i%2), "", fmt.Sprintf(`{"id":%d}`, i))
		r.Timestamp = noon.Add(time.Duration(i) * time.Minute)
		records = append(records, r)
	}
	k.put(kgo.TryCommit, records...)
	for _, tt := range []struct {
		name    string
		since   *time.Time
		offsets map[int32]int64
		want    string
	}{
		{"at a time", new(noon.Add(15 * time.Minute)), nil, "16 18 15 17 19"},
		{"after all", new(noon.Add(time.Hour)), nil, ""},
		{"at offsets", nil, map[int32]int64{0: 8, 1: 11}, "16 18"},
		{"at one offset, and a time for the rest", new(noon.Add(15 * time.Minute)), map[int32]int64{0: 9}, "18 15 17 19"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := k.rig(t)
			r.spec.Kafka.Since, r.spec.Kafka.Offsets = tt.since, tt.offsets
			var ids []string
			items, _ := r.readOn("", false)
			for _, it := range items {
				ids = append(ids, it.ID)
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("ids = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTombstonesAreCountedAndKeysCanBeIDs(t *testing.T) {
	k := newTopic(t, 1)
	gone := record(0, "b", "")
	gone.Value = nil
	k.put(kgo.TryCommit, record(0, "a", `{"n":1}`), gone, record(0, "c", `{"n":3}`))
	r := k.rig(t)
	r.spec.Kafka.IDFromKey = true
	p, err := r.first()
	if err != nil || p.Skipped != 1 {
		t.Errorf("skipped = %d, %v, want 1", p.Skipped, err)
	}
	sameItems(t, "by key", p.Items, []weir.RawItem{{ID: "a", Value: []byte(`{"n":1}`)}, {ID: "c", Value: []byte(`{"n":3}`)}})
}

func TestBadRecordsArePermanentAndNamed(t *testing.T) {
	for _, tt := range []struct{ name, key, value, code string }{
		{"no JSON", "a", "hello", feed.CodeBadItem},
		{"nothing", "a", "", feed.CodeBadItem},
		{"no id", "", `{"n":1}`, feed.CodeMissingID},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newTopic(t, 2)
			k.put(kgo.TryCommit, record(1, "a", `{"id":"a"}`), record(1, tt.key, tt.value))
			for _, byKey := range []bool{false, true} {
				r := k.rig(t)
				r.spec.Kafka.IDFromKey = byKey
				_, err := r.first()
				isPermanent(t, err, tt.code, "partition 1, offset 1")
			}
		})
	}
}

func TestATopicThatLosesRecordsIsNotReadOn(t *testing.T) {
	k := newTopic(t, 1)
	k.spread(users(100), 1)
	r := k.rig(t)
	r.spec.PageSize = 10
	p, err := r.first()
	if err != nil {
		t.Fatal(err)
	}
	adm := kadm.NewClient(k.client)
	if _, err := adm.DeleteRecords(t.Context(), kadm.Offsets{"users": {0: {Topic: "users", At: 50}}}); err != nil {
		t.Fatal(err)
	}
	_, err = r.open().Read(t.Context(), p.Next)
	isPermanent(t, err, feed.CodeRemoved, "lost records")
}

func TestTopicsThatAreNotThere(t *testing.T) {
	k := newTopic(t, 1)
	r := k.rig(t)
	r.spec.Kafka.Topic = "nobody"
	_, err := r.first()
	isPermanent(t, err, feed.CodeNotFound, "no such topic")
	r = k.rig(t)
	r.spec.Kafka.Offsets = map[int32]int64{7: 0}
	_, err = r.first()
	isPermanent(t, err, feed.CodeNotFound, "partition 7")
	p, err := k.rig(t).first()
	if err != nil || !p.Last || len(p.Items) > 0 {
		t.Errorf("page of an empty topic = %+v, %v, want an empty last one", p, err)
	}
}

func TestABrokerThatIsGoneIsTransient(t *testing.T) {
	k := newTopic(t, 1)
	r := k.rig(t)
	r.conn.Address = "127.0.0.1:1"
	r.spec.Timeout = api.Duration(300 * time.Millisecond)
	_, err := r.first()
	isTransient(t, err, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.open().Read(ctx, ""); err != context.Canceled { //nolint:errorlint // promised as it is
		t.Errorf("error = %v, want that of the context", err)
	}
}

func TestATopicIsSignedInTo(t *testing.T) {
	k := newTopic(t, 1, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "weir", "right"))
	for _, tt := range []struct {
		password string
		timeout  time.Duration
		in       bool
	}{{"right", time.Minute, true}, {"wrong", time.Second, false}} {
		r := k.rig(t)
		r.conn.SASL, r.conn.User, r.conn.Password = "scram-sha-256", "weir", vault.NewSecret(tt.password)
		r.spec.Timeout = api.Duration(tt.timeout)
		if _, err := r.first(); (err == nil) != tt.in {
			t.Errorf("with the %s password: error = %v, want to be let in = %v", tt.password, err, tt.in)
		}
	}
}
