package execute

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
)

// overTLS starts an endpoint with a certificate; trust says whether its caller knows it.
func overTLS(t *testing.T, h http.HandlerFunc, version uint16, trust bool) weir.Handler {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	transport := NewTransport()
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	if trust {
		transport.TLSClientConfig.RootCAs.AddCert(srv.Certificate())
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	call, err := HTTP(weir.Step{Endpoint: &weir.Endpoint{URL: srv.URL}}, HTTPOptions{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func TestCallsUseHTTP2WhereTheyCan(t *testing.T) {
	var proto atomic.Value
	call := overTLS(t, func(w http.ResponseWriter, r *http.Request) {
		proto.Store(r.Proto)
		_, _ = w.Write([]byte(`{"default":"done"}`))
	}, tls.VersionTLS13, true)
	task := newTask(2)
	if err := call(context.Background(), task); err != nil || kinds(task) != "done done " || proto.Load() != "HTTP/2.0" {
		t.Errorf("call = %v over %v, outcomes %s; want done over HTTP/2.0", err, proto.Load(), kinds(task))
	}
}

func TestUntrustedPeersAreNotCalled(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version uint16
		trust   bool
	}{
		{"unknown certificate", tls.VersionTLS13, false},
		{"TLS 1.1", tls.VersionTLS11, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls atomic.Int32
			call := overTLS(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) }, tt.version, tt.trust)
			if err := call(context.Background(), newTask(1)); Code(err) != CodeUnreachable || calls.Load() != 0 {
				t.Errorf("call = %v after %d requests, want unreachable after 0", err, calls.Load())
			}
		})
	}
}

func TestCompressedAnswerIsNotUnpacked(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(`{"default":"done"}`))
		_ = z.Close()
	}, nil)
	if err := run(t, r, newTask(1)); Code(err) != CodeBadAnswer {
		t.Errorf("call = %v, want bad_answer", err)
	}
}

func TestEndlessAnswerIsCutOff(t *testing.T) {
	var written atomic.Int64
	ended := make(chan struct{})
	r := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for chunk := []byte(strings.Repeat(" ", 1<<20)); written.Load() < 1<<30; {
			n, err := w.Write(chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}, nil)
	if err := run(t, r, newTask(1)); Code(err) != CodeBadAnswer || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("call = %v, want bad_answer", err)
	}
	if <-ended; written.Load() > 100<<20 {
		t.Errorf("%d MiB were sent before the call gave up", written.Load()>>20)
	}
}

// A call that an endpoint reads and does not answer is one call: to send it again is
// for the retries, which know the limits.
func TestACallIsSentOnce(t *testing.T) {
	var got atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if got.Add(1)%2 == 0 { // the second on its connection
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"default":"done"}`)
	}))
	defer srv.Close()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	call, err := HTTP(weir.Step{Endpoint: &weir.Endpoint{URL: srv.URL}}, HTTPOptions{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(30) {
		if err := call(context.Background(), newTask(3)); (err == nil) != (n%2 == 0) || got.Load() != n+1 {
			t.Fatalf("call %d = %v, and the endpoint got %d calls", n, err, got.Load())
		}
	}
}

func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	if NewTransport().Proxy != nil {
		t.Error("transport has a proxy, want none")
	}
}
