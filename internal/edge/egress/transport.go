package egress

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
)

// Bounds on the answers of peers.
const (
	// MaxAnswer is the largest answer that a client of [Guard.Client] reads, in bytes.
	MaxAnswer = 8 << 20
	// AnswerTimeout is the default timeout of a whole exchange.
	AnswerTimeout = 30 * time.Second
)

// TLSOptions holds the trusted authorities and our certificate. The zero value trusts the
// authorities of the system and presents no certificate.
type TLSOptions struct {
	// Authorities replace those of the system.
	Authorities *x509.CertPool
	// Certificate is presented to peers that request one.
	Certificate *tls.Certificate
	// Insecure trusts every peer. It is for trials, and is displayed wherever it is on.
	Insecure bool
}

// ParseTLS parses PEM text: authorities, our certificate with its chain, and its key. Each may
// be empty; a certificate needs its key.
func ParseTLS(authorities, certificate, key []byte, insecure bool) (TLSOptions, error) {
	o := TLSOptions{Insecure: insecure}
	bad := &weir.InputError{}
	if len(authorities) > 0 {
		o.Authorities = x509.NewCertPool()
		if !o.Authorities.AppendCertsFromPEM(authorities) {
			bad.Add("bad_certificate", "ca", "holds no certificate", "paste one or more PEM blocks of type CERTIFICATE")
		}
	}
	if len(certificate) > 0 || len(key) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil { // the cause names kinds of PEM blocks, never their content
			bad.Add("bad_certificate", "certificate", err.Error(), "give a PEM certificate and the PEM key that belongs to it")
		}
		o.Certificate = &pair
	}
	if err := bad.OrNil(); err != nil {
		return TLSOptions{}, err
	}
	return o, nil
}

// Config returns the options for the standard library, for clients of other protocols.
func (o TLSOptions) Config() *tls.Config {
	c := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            o.Authorities,
		InsecureSkipVerify: o.Insecure,
	}
	if o.Certificate != nil {
		c.Certificates = []tls.Certificate{*o.Certificate}
	}
	return c
}

// Transport returns an [execute.NewTransport] for guarded HTTP connections. It keeps idle
// connections: the caller shares it between calls and closes the idle ones in the end.
func (g *Guard) Transport(o TLSOptions) *http.Transport {
	t := execute.NewTransport()
	t.DialContext, t.TLSClientConfig = g.DialContext, o.Config()
	return t
}

// Client returns [ClientOver] the guard's own transport.
func (g *Guard) Client(timeout time.Duration) *http.Client { return ClientOver(g.plain, timeout) }

// ClientOver returns a client that follows no redirect, since that would let the peer choose
// where we call; it returns the redirect as the answer. Reading more than [MaxAnswer] of an
// answer returns a *[TooLargeError]. The timeout covers the exchange with its body; 0 means
// [AnswerTimeout].
func ClientOver(t http.RoundTripper, timeout time.Duration) *http.Client {
	if timeout <= 0 {
		timeout = AnswerTimeout
	}
	return &http.Client{
		Transport:     bounded{t},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// TooLargeError reports an answer that is longer than allowed.
type TooLargeError struct{ Limit int64 }

// Error states the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d MiB", e.Limit>>20)
}

// bounded cuts every answer at MaxAnswer.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &boundedBody{answer.Body, MaxAnswer}
	return answer, nil
}

// CloseIdleConnections passes the call of http.Client on to its transport.
func (b bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read reads one byte more than allowed, to distinguish an answer that just fills the limit
// from a longer one.
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), &TooLargeError{MaxAnswer}
	}
	b.left -= int64(n)
	return n, err
}
