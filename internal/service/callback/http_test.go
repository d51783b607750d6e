package callback

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	oracle "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/store/memstore"
)

// world is a notifier whose connections are real, on loopback, through the guard.
func world(t *testing.T, allow []egress.Rule, trust egress.TLSOptions) *Notifier {
	t.Helper()
	guard := egress.New(egress.Policy{Allow: allow})
	transport := guard.Transport(trust)
	t.Cleanup(func() { transport.CloseIdleConnections(); guard.CloseIdleConnections() })
	return open(t, memstore.New(memstore.Options{}), transport, func(o *Options) {
		o.CheckURL, o.Timeout = guard.CheckURL, 2*time.Second
	})
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// ping sends one event to a URL and returns the attempt and the endpoint's secret.
func ping(t *testing.T, n *Notifier, address, secretText string) Attempt {
	t.Helper()
	e, _, err := n.Register(t.Context(), Endpoint{URL: address}, secretText)
	if err != nil {
		t.Fatal(err)
	}
	d, err := n.Test(t.Context(), e.ID)
	if err != nil || len(d.Attempts) != 1 {
		t.Fatalf("Test = %+v, %v, want one attempt", d, err)
	}
	return d.Attempts[0]
}

func TestPublishedLibraryVerifiesWhatReceiversGet(t *testing.T) {
	secretText := NewSecret()
	hook, err := oracle.NewWebhook(secretText)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []error
	srv := serve(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		verdicts = append(verdicts, hook.Verify(body, req.Header))
		for i := 0; i < len(body); i += 17 { // and finds changed bytes
			body[i] ^= 1
			if hook.Verify(body, req.Header) == nil {
				verdicts = append(verdicts, fmt.Errorf("byte %d may be changed", i))
			}
			body[i] ^= 1
		}
		if ct := req.Header.Get("Content-Type"); ct != contentType {
			verdicts = append(verdicts, fmt.Errorf("content type is %q", ct))
		}
	})
	if a := ping(t, world(t, egress.Loopback(), egress.TLSOptions{}), srv.URL+"/hook", secretText); a.Code != "" || a.Status != 200 {
		t.Errorf("attempt = %+v, want delivered", a)
	}
	if len(verdicts) != 1 || verdicts[0] != nil {
		t.Errorf("verdicts = %v, want one nil", verdicts)
	}
}

func TestAnswersOfRealServers(t *testing.T) {
	t.Parallel()
	var followed, sent atomic.Int64
	n := world(t, egress.Loopback(), egress.TLSOptions{})
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { followed.Add(1) })
	for _, tt := range []struct {
		name   string
		say    http.HandlerFunc
		code   Code
		status int
		answer string
	}{
		{"taken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, "", 202, ""},
		{"control characters", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("a\x1b[2J\n"))
		}, CodeStatus, 400, `a\x1b[2J\n`},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		}, CodeRedirect, 308, ""},
		{"a big answer", func(w http.ResponseWriter, _ *http.Request) {
			for range 1 << 10 {
				k, err := w.Write(make([]byte, 64<<10)) // 64 MiB in all
				if sent.Add(int64(k)); err != nil {
					return
				}
			}
		}, "", 200, strings.Repeat(`\x00`, keptText/4)},
		{"a slow body after 200", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("ok"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "", 200, "ok"},
		{"no answer", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, CodeTimeout, 0, ""},
		{"a connection that breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, CodeConnect, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := ping(t, n, serve(t, tt.say).URL, "")
			if a.Code != tt.code || a.Status != tt.status || a.Answer != tt.answer {
				t.Errorf("attempt = %q %d %q (%s), want %q %d %q", a.Code, a.Status, a.Answer, a.Error, tt.code, tt.status, tt.answer)
			}
			if a.Took > 3*time.Second {
				t.Errorf("it took %v", a.Took)
			}
		})
	}
	t.Cleanup(func() {
		if followed.Load() > 0 {
			t.Error("a redirect was followed")
		}
		if sent.Load() > 32<<20 {
			t.Errorf("%d bytes of the big answer were taken", sent.Load())
		}
	})
}

func TestTLSHasToBeRight(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	trusting := egress.TLSOptions{Authorities: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for _, tt := range []struct {
		name, url string
		trust     egress.TLSOptions
		want      Code
	}{
		{"a certificate that is trusted", srv.URL, trusting, ""},
		{"an untrusted certificate", srv.URL, egress.TLSOptions{}, CodeTLS},
		{"a certificate of another name", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), trusting, CodeTLS},
		{"a server without TLS", strings.Replace(plain.URL, "http:", "https:", 1), trusting, CodeTLS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := ping(t, world(t, egress.Loopback(), tt.trust), tt.url, ""); a.Code != tt.want {
				t.Errorf("attempt = %q (%s), want %q", a.Code, a.Error, tt.want)
			}
		})
	}
}

// Of a connection that must not be made, nothing is told but that.
func TestRefusedAddressesAreNotDescribed(t *testing.T) {
	srv := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was called") })
	n := world(t, nil, egress.TLSOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	counted := make(chan Result, 1)
	n.opts.Counted = func(r Result) { counted <- r }
	go func() { defer close(ended); _ = n.Run(ctx) }()
	note(t, n, completed("ba_1"), &Target{URL: srv.URL})
	if r := <-counted; r != ResultRetried {
		t.Errorf("result = %s, want retried", r)
	}
	cancel()
	<-ended
	d := only(t, n, "ba_1")
	if a := d.Attempts[0]; a.Code != CodeNotAllowed || a.Error != "" || a.Answer != "" || a.Status != 0 {
		t.Errorf("attempt = %+v, want address_not_allowed and nothing else", a)
	}
	if _, _, err := n.Register(t.Context(), Endpoint{URL: srv.URL}, ""); fieldCodes(err) != "address_not_allowed url" {
		t.Errorf("Register = %v, want address_not_allowed", err)
	}
}
