package execute

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/weirhq/weir"
)

// headerRefused names the scope of a refusal: "tenant" means the task's tenant alone.
const headerRefused = "Weir-Refused"

// drainBytes bounds how much of an unwanted body is read to keep its connection.
const drainBytes = 64 << 10

// refusal returns the error of any answer other than 2xx with a body.
func (c *caller) refusal(resp *http.Response, t *weir.Task, req *request) error {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, excerptBytes)) // a part is enough for a message
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	status, text := resp.StatusCode, describe(resp.StatusCode, head)
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return &weir.RefusedError{
			After: refusedFor(resp.Header, c.now()), OfTenant: strings.EqualFold(resp.Header.Get(headerRefused), "tenant"),
			Err: errors.New(text),
		}
	case status < 300:
		return badAnswer(status, "answered %s where JSON was expected", statusText(status))
	case status < 400:
		return badAnswer(status, "answered %s to %q; redirects are not followed: set the action's URL to the final address",
			statusText(status), Excerpt([]byte(resp.Header.Get("Location")), excerptBytes))
	case fixes[status] != "":
		return &EndpointError{
			URL: shownURL(c.template.URL), Status: status, Misconfigured: true,
			Excerpt: Excerpt(head, excerptBytes),
		}
	case status == http.StatusRequestTimeout:
		return &CallError{CodeTimeout, status, errors.New(text)}
	case status == http.StatusRequestEntityTooLarge && len(req.sent) > 1:
		return &CallError{CodeTooLarge, status, errors.New(text)} // half the task may fit
	case status < 500:
		for _, i := range req.sent {
			t.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: CodeClientError, Message: text}
		}
		return nil
	}
	return &CallError{CodeServerError, status, errors.New(text)}
}

// Rejected reports whether the endpoint rejected the whole call, for instance with 400.
func Rejected(t *weir.Task) bool {
	for i := range t.Outcomes {
		if t.Outcomes[i].Code != CodeClientError {
			return false
		}
	}
	return len(t.Outcomes) > 0
}

func describe(status int, body []byte) string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", statusText(status), Excerpt(body, excerptBytes)), ": ")
}
