package callback

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/records"
)

// errStopped is the cause of attempts that end because Run ends.
var errStopped = errors.New("the notifier was told to stop")

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
func Results() []Result { return []Result{ResultDelivered, ResultRetried, ResultFailed} }

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
	// Source is the source of the events, as a URI reference. Default "/weir".
	Source string
	// Secret signs for a URL that comes with an event without a secret. Default: such deliveries are
	// not signed.
	Secret string
	// Topics receive events besides the registered endpoints. All nodes must have the same.
	Topics []Topic
	// AtOnce bounds the attempts under way. Default 64, at least 1.
	AtOnce int
	// PerEndpoint bounds the attempts of one tenant for one host; each registered endpoint counts
	// separately. Default 2, at least 1.
	PerEndpoint int
	// PerHost bounds the attempts for one host, of all tenants. Default 16, at least 1.
	PerHost int
	// Timeout of an attempt. Default 15s.
	Timeout time.Duration
	// ScanEvery is the interval between searches for pending deliveries of other nodes. Default 10s.
	ScanEvery time.Duration
	// DrainFor is how long attempts may continue after Run was told to stop. Default 5s.
	DrainFor time.Duration
	// Counted is called for every attempt, by many goroutines. Default: not called.
	Counted func(kind string, r Result, took time.Duration)
	// Random returns numbers in [0,1) for the jitter of the schedule. Default: math/rand/v2.
	Random func() float64
	// Logger receives errors of the store, and disabled endpoints. Default [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Source = cmp.Or(o.Source, "/weir")
	o.AtOnce = cmp.Or(o.AtOnce, 64)
	o.PerEndpoint = cmp.Or(o.PerEndpoint, 2)
	o.PerHost = cmp.Or(o.PerHost, 16)
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.ScanEvery = cmp.Or(o.ScanEvery, 10*time.Second)
	o.DrainFor = cmp.Or(o.DrainFor, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Owns == nil {
		o.Owns = func(string) bool { return true }
	}
	if o.Counted == nil {
		o.Counted = func(string, Result, time.Duration) {}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Store == nil:
		return errors.New("callback: Store is required")
	case o.Transport == nil:
		return errors.New("callback: Transport is required")
	case o.CheckURL == nil:
		return errors.New("callback: CheckURL is required")
	case o.AtOnce < 1 || o.PerHost < 1 || o.PerEndpoint < 1:
		return fmt.Errorf("callback: AtOnce is %d, PerHost %d and PerEndpoint %d, want 1 at least", o.AtOnce, o.PerHost, o.PerEndpoint)
	case o.Timeout < 0 || o.ScanEvery < 0 || o.DrainFor < 0:
		return errors.New("callback: a duration is negative")
	}
	if o.Secret != "" {
		if _, err := execute.NewSigner(o.Secret); err != nil {
			return fmt.Errorf("callback: Secret: %w", err)
		}
	}
	return nil
}

// Notifier creates deliveries of events and sends them. It may be used by many goroutines.
type Notifier struct {
	opts   Options
	node   string // identifies its claims
	client *http.Client
	topics map[string]*producer
	cache  cache

	webhooks   *records.Table[endpointRecord]
	events     *records.Table[eventRecord]
	deliveries *records.Table[Delivery]
	notices    *records.Table[notice]

	mu    sync.Mutex // guards queue; held only while it changes
	queue *queue
	woken chan struct{}

	scanRest atomic.Int64              // nanoseconds between the last scan and the next
	oldest   atomic.Pointer[time.Time] // when the oldest pending delivery began; zero for none
}

// New returns a notifier. [Notifier.Close] it after Run has returned.
func New(o Options) (*Notifier, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	n := &Notifier{
		opts: o,
		node: strings.ToLower(ulid.Make().String()),
		client: &http.Client{
			Transport: o.Transport,
			// A redirect is not followed: the endpoint would choose where we call.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		topics:     map[string]*producer{},
		webhooks:   records.New[endpointRecord](o.Store, "webhook"),
		events:     records.New[eventRecord](o.Store, "event"),
		deliveries: records.New[Delivery](o.Store, "delivery"),
		notices:    records.New[notice](o.Store, "notice"),
		queue:      newQueue(o.PerEndpoint, o.PerHost),
		woken:      make(chan struct{}, 1),
	}
	for _, t := range o.Topics {
		if err := n.addTopic(t); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// Close closes the connections to topics.
func (n *Notifier) Close() {
	for _, p := range n.topics {
		p.close()
	}
}

// push gives Run a job, if this node sends it.
func (n *Notifier) push(jobs ...job) {
	n.mu.Lock()
	for _, j := range jobs {
		n.queue.add(j)
	}
	n.mu.Unlock()
	select {
	case n.woken <- struct{}{}:
	default: // it is awake already
	}
}

// wall returns the time as records store it.
func wall() time.Time { return time.Now().Round(0).UTC() }
