package execute

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// NewTransport returns a transport for endpoint calls; all actions of a process should share
// one. It ignores proxies of the environment, requires TLS 1.2 or later, and never decompresses
// an answer, so that a small answer cannot grow. It keeps as many idle connections to one host
// as a busy action has tasks in flight, and closes them before most servers would. A call over
// a connection that the endpoint closes at that moment fails: sending it again here would
// bypass the limits.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    5 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        4 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
