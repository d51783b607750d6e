package callback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hookURL = "https://hooks.example.com/weir"

// completed is an event of a bulk action.
func completed(bulk string) Event {
	return Event{
		ID: EventID(bulk, TypeCompleted, 0), Type: TypeCompleted, Tenant: "growth", BulkAction: bulk,
		At: wall(), Data: json.RawMessage(`{"done":3}`),
	}
}

// call is a request as a receiver got it.
type call struct {
	at     time.Time
	host   string
	id     string
	body   string
	header http.Header
}

// receiver is all endpoints there are. It answers by say, which gets the number of
// the call, from 1; without say it takes everything.
type receiver struct {
	say func(no int, req *http.Request) (*http.Response, error)

	mu    sync.Mutex
	calls []call
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	_ = req.Body.Close()
	r.mu.Lock()
	r.calls = append(r.calls, call{time.Now(), req.URL.Host, req.Header.Get("webhook-id"), string(body), req.Header})
	no := len(r.calls)
	r.mu.Unlock()
	if r.say == nil {
		return answer(http.StatusOK, "thanks"), nil
	}
	return r.say(no, req)
}

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// always answers every call alike.
func always(status int) func(int, *http.Request) (*http.Response, error) {
	return func(int, *http.Request) (*http.Response, error) { return answer(status, "no"), nil }
}

// hang answers nothing until the caller has had enough.
func hang(_ int, req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

var testVault = func() *vault.Vault {
	v, err := vault.New(vault.NewKey())
	if err != nil {
		panic(err)
	}
	return v
}()

// open makes a notifier on a store; change may alter its options.
func open(t *testing.T, s records.Keeper, r http.RoundTripper, change func(*Options)) *Notifier {
	t.Helper()
	o := Options{
		Store: s, Transport: r, Sealer: testVault, Logger: slog.New(slog.DiscardHandler),
		CheckURL: func(field, raw string) (*url.URL, error) {
			if !strings.HasPrefix(raw, "http") {
				return nil, &weir.FieldError{Code: "bad_url", Field: field, Problem: "is not a URL"}
			}
			return url.Parse(raw)
		},
	}
	if change != nil {
		change(&o)
	}
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// start runs a notifier until stop is called, or the test ends.
func start(t *testing.T, n *Notifier) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := n.Run(ctx); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// register makes an endpoint for all events of all tenants.
func register(t *testing.T, n *Notifier, address string) (id, secretText string) {
	t.Helper()
	e, s, err := n.Register(t.Context(), Endpoint{URL: address}, "")
	if err != nil {
		t.Fatal(err)
	}
	return e.ID, s
}

func note(t *testing.T, n *Notifier, ev Event, oneOff *Target) {
	t.Helper()
	if err := n.Note(t.Context(), ev, oneOff); err != nil {
		t.Fatalf("Note = %v", err)
	}
}

// only returns the one delivery of a bulk action.
func only(t *testing.T, n *Notifier, bulk string) Delivery {
	t.Helper()
	p, err := n.List(t.Context(), Query{BulkAction: bulk})
	if err != nil || len(p.Deliveries) != 1 {
		t.Fatalf("deliveries of %s = %d, %v, want 1", bulk, len(p.Deliveries), err)
	}
	return p.Deliveries[0]
}

// pendingNotices counts what is left to do.
func pendingNotices(t *testing.T, s records.Keeper) int {
	t.Helper()
	list, err := s.List(t.Context(), "notice/"+pendingList, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// alike fails unless all calls have one id and the same bytes.
func alike(t *testing.T, calls []call) {
	t.Helper()
	for i, c := range calls {
		if c.id != calls[0].id || c.body != calls[0].body {
			t.Errorf("call %d is %s %s, the first was %s %s", i+1, c.id, c.body, calls[0].id, calls[0].body)
		}
	}
}

func fieldCodes(err error) string {
	if one, ok := errors.AsType[*weir.FieldError](err); ok {
		return one.Code
	}
	all, ok := errors.AsType[*weir.InputError](err)
	if !ok {
		return ""
	}
	var codes []string
	for _, f := range all.Fields {
		codes = append(codes, f.Code+" "+f.Field)
	}
	return strings.Join(codes, ", ")
}

// everything is all that a store holds, as text.
func everything(t *testing.T, s *memstore.Store) string {
	t.Helper()
	list, err := s.List(t.Context(), "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, r := range list {
		b.WriteString(r.Name)
		b.Write(r.Value)
	}
	return b.String()
}
