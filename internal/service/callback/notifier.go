package callback

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/due"
	"github.com/weirhq/weir/internal/service/records"
)

// Result is the effect of an attempt on its delivery, for metrics.
type Result string

// The results of attempts.
const (
	ResultDelivered Result = "delivered"
	ResultRetried   Result = "retried"   // it failed and will be retried
	ResultFailed    Result = "failed"    // it failed permanently
	ResultCancelled Result = "cancelled" // the endpoint was disabled or removed
)

// Results lists all results.
func Results() []Result {
	return []Result{ResultDelivered, ResultRetried, ResultFailed, ResultCancelled}
}

// Options configures [New]. Store, Transport and CheckURL are required.
type Options struct {
	// Store keeps events, deliveries and endpoints.
	Store records.Keeper
	// Transport connects to endpoints. It must be guarded: users choose the addresses.
	Transport http.RoundTripper
	// Sealer seals secrets. Without one, endpoints cannot have secrets.
	Sealer Sealer
	// CheckURL checks the URL of an endpoint to register, like that of package egress.
	CheckURL func(field, raw string) (*url.URL, error)
	// Owns divides the pending deliveries over nodes by their bulk action. Default: a node sends all it finds.
	Owns func(bulkAction string) bool
	// Alone says that no other process sends from this store: claims of an earlier process that died
	// are free at once. Default: they are free when they end.
	Alone bool
	// Topics receive events besides the registered endpoints. All nodes must have the same.
	Topics []Topic
	// AtOnce bounds the attempts under way. Default 64.
	AtOnce int
	// PerHost bounds the attempts for one host, of all tenants. Default 16.
	PerHost int
	// Timeout of an attempt. Default 15s.
	Timeout time.Duration
	// ScanEvery is the interval between searches for pending deliveries of other nodes. Default 10s.
	ScanEvery time.Duration
	// Counted is called for every attempt, by many goroutines. Default: not called.
	Counted func(Result)
	// Tracer takes the spans of attempts, if their bulk action is traced. Default: none are made.
	Tracer weir.Tracer
	// Random returns numbers in [0,1) for the jitter of the schedule. Default: math/rand/v2.
	Random func() float64
	// Logger receives errors of the store, and disabled endpoints. Default [slog.Default].
	Logger *slog.Logger
}

const (
	// perEndpoint bounds the attempts for one registered endpoint, and those of one tenant at one host.
	perEndpoint = 2
	// drainFor is how long attempts may continue after Run was told to stop.
	drainFor = 5 * time.Second
)

func (o Options) withDefaults() Options {
	o.AtOnce = cmp.Or(o.AtOnce, 64)
	o.PerHost = cmp.Or(o.PerHost, 16)
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.ScanEvery = cmp.Or(o.ScanEvery, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Owns == nil {
		o.Owns = func(string) bool { return true }
	}
	if o.Counted == nil {
		o.Counted = func(Result) {}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// Notifier creates deliveries of events and sends them. It may be used by many goroutines.
type Notifier struct {
	*Endpoints
	*outbox
	opts   Options
	node   string // identifies its claims
	sender *sender
	runner *due.Runner[pending]
	oldest atomic.Pointer[time.Time] // when the oldest pending delivery began; zero for none
}

// New returns a notifier. [Notifier.Close] it after Run has returned.
func New(o Options) (*Notifier, error) {
	o = o.withDefaults()
	secrets := sealing{o.Sealer}
	n := &Notifier{
		opts: o, node: strings.ToLower(ulid.Make().String()),
		Endpoints: &Endpoints{table: records.New[endpointRecord](o.Store, "webhook"), secrets: secrets,
			checkURL: o.CheckURL, log: o.Logger},
		outbox: &outbox{
			events: records.New[eventRecord](o.Store, "event"), deliveries: records.New[Delivery](o.Store, "delivery"),
			notices: records.New[notice](o.Store, "notice"), secrets: secrets, log: o.Logger,
		},
	}
	n.sender = newSender(&o, n.Endpoints, n.events)
	n.runner = due.New(due.Options[pending]{
		Find: n.scan, Work: n.attempt, Every: o.ScanEvery, Share: scanShare,
		AtOnce: o.AtOnce, PerTarget: perEndpoint, PerHost: o.PerHost, DrainFor: drainFor, Name: "deliveries", Logger: o.Logger,
	})
	for _, t := range o.Topics {
		if err := n.sender.addTopic(t); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// Close closes the connections to topics.
func (n *Notifier) Close() {
	for _, p := range n.sender.topics {
		p.close()
	}
}

// wall returns the time as records store it.
func wall() time.Time { return time.Now().Round(0).UTC() }
