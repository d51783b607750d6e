package egress

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/weirhq/weir"
)

// Bounds of what a peer may answer.
const (
	// MaxAnswer is the most bytes of an answer that a client of [Guard.Client] reads.
	MaxAnswer = 8 << 20
	// AnswerTimeout is how long a whole exchange may take if nothing else is said.
	AnswerTimeout = 30 * time.Second
	// maxHeader is the most bytes of an answer's header.
	maxHeader = 64 << 10
)

// TLSOptions says whom to trust and who we are. The zero value trusts the
// authorities of the system and shows no certificate.
type TLSOptions struct {
	// Authorities are trusted in place of the system's.
	Authorities *x509.CertPool
	// Certificate is shown to peers that ask who calls.
	Certificate *tls.Certificate
	// Insecure trusts every peer. It is for trials, and shown wherever it is on.
	Insecure bool
}

// ParseTLS reads options from PEM text: authorities, our certificate with its
// chain, and its key. Each may be empty; a certificate needs its key.
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

// Config is the options as the standard library wants them, for clients of other protocols.
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

// Transport makes guarded HTTP connections. It uses no proxy of the environment
// and never unpacks a compressed answer. It keeps connections for later: whoever
// made it shares it between calls and closes the idle ones in the end.
func (g *Guard) Transport(o TLSOptions) *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		TLSClientConfig:        o.Config(),
		TLSHandshakeTimeout:    5 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        4 * time.Second, // before most servers close them,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// Client is [ClientOver] the guard's own transport.
func (g *Guard) Client(timeout time.Duration) *http.Client { return ClientOver(g.plain, timeout) }

// ClientOver is a client that follows no redirect, since that would let the peer
// choose where we call, but returns it as the answer. Reading more than [MaxAnswer]
// of an answer gives a *[TooLargeError]. The timeout is for the exchange with its
// body; 0 means [AnswerTimeout].
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

// TooLargeError is an answer that goes on beyond what is read of one.
type TooLargeError struct{ Limit int64 }

// Error tells the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d MiB", e.Limit>>20)
}

// bounded cuts every answer off at MaxAnswer.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &boundedBody{answer.Body, MaxAnswer}
	return answer, nil
}

// CloseIdleConnections passes on what http.Client asks of its transport.
func (b bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read asks for one byte more than may come, which tells an answer that fills the
// limit from one that goes on.
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
