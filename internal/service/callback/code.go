package callback

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/due"
)

// Code is the reason why an attempt failed. The set is closed.
type Code string

// The codes of failed attempts.
const (
	CodeStatus      Code = "bad_status"          // the status was not 2xx
	CodeRedirect    Code = "redirected"          // redirects are not followed
	CodeGone        Code = "gone"                // 410: the endpoint wants no more events
	CodeTimeout     Code = "timeout"             // no response in time
	CodeTLS         Code = "tls_failed"          // its certificate is not trusted, or it does not support TLS
	CodeConnect     Code = "connection_failed"   // no connection, or it broke
	CodeNotAllowed  Code = "address_not_allowed" // the operator's rules forbid the address
	CodeSecret      Code = "bad_secret"          // the delivery cannot be signed
	CodeDisabled    Code = "endpoint_disabled"   // disabled or removed before it was sent
	CodeExpired     Code = "expired"             // the event was removed or is damaged
	CodeTopic       Code = "topic_failed"        // Kafka did not accept it
	CodeInterrupted Code = "interrupted"         // the node was stopped
)

// Codes lists the codes of failed attempts.
func Codes() []Code {
	return []Code{CodeStatus, CodeRedirect, CodeGone, CodeTimeout, CodeTLS, CodeConnect, CodeNotAllowed, CodeSecret, CodeDisabled,
		CodeExpired, CodeTopic, CodeInterrupted}
}

// final reports whether a retry cannot succeed.
func (c Code) final() bool { return c == CodeGone || c == CodeDisabled || c == CodeExpired }

// keptText bounds the stored bytes of a response or an error.
const keptText = 512

// failure returns the attempt for a call without a response. For a refused connection it gives no
// details.
func failure(ctx context.Context, err error) Attempt {
	if _, ok := errors.AsType[*egress.NotAllowedError](err); ok {
		return Attempt{Code: CodeNotAllowed}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, which may hold a token
	}
	text := execute.Excerpt([]byte(err.Error()), keptText)
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(context.Cause(ctx), due.ErrStopped):
		return Attempt{Code: CodeInterrupted, Error: text}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), ok && timeout.Timeout():
		return Attempt{Code: CodeTimeout, Error: text}
	case isTLS(err):
		return Attempt{Code: CodeTLS, Error: text}
	}
	return Attempt{Code: CodeConnect, Error: text}
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.AlertError](err)
	return ok || strings.HasPrefix(err.Error(), "tls: ") || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// verdict returns the attempt for a response.
func verdict(resp *http.Response, body []byte) Attempt {
	a := Attempt{Status: resp.StatusCode, Answer: execute.Excerpt(body, keptText)}
	text := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
	case status == http.StatusGone:
		a.Code, a.Error = CodeGone, text
	case status >= 300 && status < 400:
		where := execute.Excerpt([]byte(resp.Header.Get("Location")), keptText/2)
		a.Code, a.Error = CodeRedirect, fmt.Sprintf("%s to %q; redirects are not followed: give the final address", text, where)
	default:
		a.Code, a.Error = CodeStatus, text
	}
	return a
}
