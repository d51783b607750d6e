package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
)

// house is a server in this process.
type house struct {
	conf    *config.Server
	log     *clitest.Shot
	signals chan os.Signal
	over    chan error
}

// handlerOf makes parts of a handler, and of keepers that say when they end.
func handlerOf(h func(taking context.Context) http.Handler, kept chan<- struct{}) parts {
	p := parts{metrics: prometheus.NewRegistry()}
	p.handler = func(ctx context.Context, _ *config.Server, _ *engine.Engine, _ store.Store, _ *slog.Logger) (http.Handler, func(context.Context) error, error) {
		return h(ctx), func(ctx context.Context) error {
			<-ctx.Done()
			if kept != nil {
				close(kept)
			}
			return nil
		}, nil
	}
	return p
}

func open(t *testing.T, c *config.Server, p parts) *house {
	t.Helper()
	h := &house{conf: c, log: &clitest.Shot{}, signals: make(chan os.Signal, 2), over: make(chan error, 1)}
	env := &command.Env{Dir: t.TempDir(), Stdout: h.log, Stderr: h.log, Signals: h.signals}
	env.Fill()
	go func() { h.over <- serve(t.Context(), env, c, p, false) }()
	return h
}

// url waits until the server says where it is.
func (h *house) url(t *testing.T) string {
	t.Helper()
	h.log.Until(t, "role ")
	_, after, _ := strings.Cut(h.log.String(), "url        ")
	address, _, _ := strings.Cut(after, "\n")
	return address
}

func (h *house) stop(t *testing.T) {
	t.Helper()
	h.signals <- os.Interrupt
	if err := <-h.over; err != nil {
		t.Errorf("serve = %v, want nil\n%s", err, h.log)
	}
}

func TestADrainingServerFinishesRequestsAndThenItsKeepers(t *testing.T) {
	begun, goOn, kept := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := open(t, clitest.Settings(t, map[string]string{"admin_listen": "127.0.0.1:0"}), handlerOf(func(taking context.Context) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-taking.Done() // the server has been told to stop
			<-goOn
			if r.Context().Err() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = io.WriteString(w, "whole")
		})
	}, kept))
	url := h.url(t)
	answer := make(chan string, 1)
	go func() {
		a, err := http.Get(url)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer a.Body.Close()
		b, _ := io.ReadAll(a.Body) // what is missing shows
		answer <- a.Status + " " + string(b)
	}()
	<-begun
	h.signals <- os.Interrupt
	h.log.Until(t, "draining")
	select {
	case <-kept:
		t.Error("the keepers ended before the last request did")
	default:
	}
	close(goOn)
	if got := <-answer; got != "200 OK whole" {
		t.Errorf("the request under way was answered with %q", got)
	}
	if err := <-h.over; err != nil {
		t.Errorf("serve = %v", err)
	}
	<-kept
	http.DefaultClient.CloseIdleConnections()
}

func TestASecondSignalWaitsForNobody(t *testing.T) {
	begun, goOn, kept := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := open(t, clitest.Settings(t, nil), handlerOf(func(context.Context) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(begun)
			<-goOn
		})
	}, kept))
	url := h.url(t)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if a, err := http.Get(url); err == nil {
			_ = a.Body.Close()
		}
	}()
	<-begun
	h.signals <- os.Interrupt
	h.log.Until(t, "draining")
	h.signals <- os.Interrupt
	if f, ok := errors.AsType[*command.Failure](<-h.over); !ok || f.Code != command.ExitInterrupted {
		t.Errorf("serve = %v, want an abort", f)
	}
	close(goOn)
	<-answered
	<-kept
	awaitFree(t, h.conf)
	http.DefaultClient.CloseIdleConnections()
}

// awaitFree waits until nobody has the store open.
func awaitFree(t *testing.T, c *config.Server) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		s, err := pebblestore.Open(filepath.Join(c.Data, "store"), pebblestore.Options{MinFree: -1, Ballast: -1, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the store is not closed: %v", err)
		}
		if err := command.Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAStoreThatDoesNotOpenIsExplained(t *testing.T) {
	c := clitest.Settings(t, nil)
	for _, tt := range []struct {
		err       error
		code      int
		what, fix string
	}{
		{syscall.EAGAIN, command.ExitUsage, "another process is using this data directory", "stop that one"},
		{&os.PathError{Op: "mkdir", Path: "/d", Err: syscall.EACCES}, command.ExitUsage, "cannot be written: permission denied", "check who owns it"},
		{&os.PathError{Op: "mkdir", Path: "/d", Err: syscall.EROFS}, command.ExitUsage, "cannot be written: read-only file system", "choose another directory"},
		{store.ErrFull, command.ExitUsage, "low on space", "make room"},
		{&pebblestore.LossError{Missing: []string{"000002.log"}}, command.ExitUsage, "000002.log is gone", "--accept-loss"},
		{store.ErrUnavailable, command.ExitUnreachable, "unavailable", "check the address of Redis"},
		{errors.New("written by a newer version of weir"), command.ExitUsage, "newer version", ""},
	} {
		f, ok := errors.AsType[*command.Failure](StoreFailed(c, fmt.Errorf("open store: %w", tt.err)))
		if !ok || f.Code != tt.code || !strings.Contains(f.What, tt.what) || !strings.Contains(f.Fix, tt.fix) {
			t.Errorf("%v is explained as %+v, want code %d, %q, %q", tt.err, f, tt.code, tt.what, tt.fix)
		}
	}
}

// lobby is a handler with routes of its own for operators, which may know keys.
type lobby struct {
	http.Handler
	keys bool
	err  error
}

func (lobby) Operators() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "operators") })
}

func (l lobby) HasKeys(context.Context) (bool, error) { return l.keys, l.err }

// TestStartMatrix is who may be listened to with what.
func TestSentinelsAndServersHaveUsersOfTheirOwn(t *testing.T) {
	word := filepath.Join(t.TempDir(), "word")
	if err := os.WriteFile(word, []byte("for-sentinels\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := SharedOptions(clitest.Settings(t, map[string]string{
		"redis": "redis://app@s1:26379?primary=main", "redis_sentinel_user": "looker", "redis_sentinel_password_file": word,
	}))
	if err != nil || len(all) != 1 {
		t.Fatalf("SharedOptions = %+v, %v", all, err)
	}
	if o := all[0]; o.Username != "app" || o.Password != "" || o.Primary != "main" || o.SentinelUsername != "looker" || o.SentinelPassword != "for-sentinels" {
		t.Errorf("SharedOptions = %+v", o)
	}
}

func TestStartMatrix(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags map[string]string
		lobby lobby
		want  string // in the error; empty: it starts
	}{
		{"this machine without a key", nil, lobby{}, ""},
		{"others without a key", map[string]string{"listen": "0.0.0.0:0", "tls.proxy": "true"}, lobby{}, "no API key exists"},
		{"operators from elsewhere without a key", map[string]string{"admin_listen": "0.0.0.0:0", "tls.proxy": "true"}, lobby{}, "no API key exists"},
		{"others with a key in the store", map[string]string{"listen": "0.0.0.0:0", "tls.proxy": "true"}, lobby{keys: true}, ""},
		{"others with a key in a file", map[string]string{"listen": "0.0.0.0:0", "tls.proxy": "true", "admin_key_file": "admin.key"}, lobby{}, ""},
		{"others when nobody can tell", map[string]string{"listen": "0.0.0.0:0", "tls.proxy": "true"}, lobby{err: errors.New("store is away")}, "store is away"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.lobby.Handler = http.NotFoundHandler()
			h := open(t, clitest.Settings(t, tt.flags), handlerOf(func(context.Context) http.Handler { return tt.lobby }, nil))
			if tt.want == "" {
				h.url(t)
				h.stop(t)
				return
			}
			if err := <-h.over; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("serve = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOperatorsHaveAnAddressOfTheirOwn(t *testing.T) {
	address, err := clitest.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := clitest.Settings(t, map[string]string{"admin_listen": address})
	h := open(t, c, handlerOf(func(context.Context) http.Handler { return lobby{Handler: http.NotFoundHandler()} }, nil))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for url, want := range map[string]int{h.url(t): http.StatusNotFound, "http://" + address: http.StatusOK} {
		a, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("%s answers %d, want %d", url, a.StatusCode, want)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("x", 70<<10))
	a, err := client.Do(r)
	if err != nil || a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("70 KiB of headers are answered with %v, %v", a, err)
	} else {
		_ = a.Body.Close()
	}
	h.stop(t)
}

func TestACertificateThatWasReplacedIsShownToTheNextClient(t *testing.T) {
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	first := clitest.NewPair(t, files, "first.example")
	log := &clitest.Shot{}
	c, err := newCertificate(files, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	shows := func(after time.Duration) string {
		conf := c.at(t.Context(), now.Add(after))
		return string(conf.Certificates[0].Certificate[0])
	}
	second := clitest.NewPair(t, files, "a-longer-name.example")
	if got := shows(lookAtCertificate / 2); got != first {
		t.Error("the files were looked at again at once")
	}
	if got := shows(3 * lookAtCertificate); got != second {
		t.Error("the new certificate is not shown")
	}
	if err := os.WriteFile(files.Cert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shows(5 * lookAtCertificate); got != second || !strings.Contains(log.String(), "the former one stays") {
		t.Errorf("with a file that cannot be used the certificate is another one\n%s", log)
	}
	conf := c.at(t.Context(), now)
	if conf.MinVersion != tls.VersionTLS12 || conf.ClientAuth != tls.NoClientCert {
		t.Errorf("config = %+v", conf)
	}
}

func TestTLSEndsInTheServer(t *testing.T) {
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "cert.pem")}
	clitest.NewPair(t, files, "weir.example")
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, clitest.Settings(t, map[string]string{"tls.cert": files.Cert, "tls.key": files.Key, "tls.client_ca": files.ClientCA, "admin_listen": "127.0.0.1:0"}), nodeParts(false))
	url := h.url(t)
	for _, tt := range []struct {
		name string
		show []tls.Certificate
		ok   bool
	}{{"with a certificate", []tls.Certificate{pair}, true}, {"without one", nil, false}} {
		conf := &tls.Config{InsecureSkipVerify: true, Certificates: tt.show}
		transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
		client := &http.Client{Transport: transport}
		a, err := client.Get(url + "/healthz")
		if (err == nil) != tt.ok {
			t.Errorf("a client %s is answered with %v, %v", tt.name, a, err)
		}
		if err == nil {
			_ = a.Body.Close()
			if a.ProtoMajor != 2 {
				t.Errorf("%s is spoken, want HTTP/2", a.Proto)
			}
		}
		transport.CloseIdleConnections()
	}
	h.stop(t)
}

func TestSystemdIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	env := &command.Env{Getenv: func(name string) string { return map[string]string{"NOTIFY_SOCKET": socket}[name] }}
	notify(t.Context(), env, "READY=1")
	b := make([]byte, 64)
	n, err := l.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("systemd hears %q, %v", b[:n], err)
	}
}
