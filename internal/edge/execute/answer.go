package execute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/jsonsize"
	"github.com/weirhq/weir/internal/core/plain"
)

// Bounds on an answer.
const (
	maxAnswer  = 8 << 20
	keepBytes  = 1 << 20 // the largest buffer that is reused
	maxMessage = 1024
	maxCode    = 64
)

// answer is the body of an endpoint's answer. Further fields are ignored.
type answer struct {
	Results []result `json:"results"`
	Default string   `json:"default"`
}

type result struct {
	ID         string         `json:"id"`
	Status     string         `json:"status"`
	Output     jsontext.Value `json:"output"`
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	RetryAfter jsontext.Value `json:"retry_after"`
}

// answer reads a 2xx answer into the task's outcomes.
func (c *caller) answer(ctx context.Context, resp *http.Response, t *weir.Task, req *request) error {
	buf, _ := c.answers.Get().(*bytes.Buffer)
	if buf == nil {
		buf = &bytes.Buffer{}
	}
	defer c.keep(buf)
	done, err := c.memory.read(ctx, buf, resp)
	defer done()
	if err != nil {
		if failed := c.callFailed(ctx, err); failed.Code != CodeUnreachable {
			return failed
		}
		return badAnswer(resp.StatusCode, "answer was cut after %d bytes: %w", buf.Len(), err)
	}
	a, err := parse(buf.Bytes())
	if err == nil {
		err = c.apply(a, t, req.sent)
	}
	if err != nil {
		return &CallError{CodeBadAnswer, resp.StatusCode, err}
	}
	return nil
}

// keep returns a buffer for the next answer, unless it grew beyond keepBytes.
func (c *caller) keep(buf *bytes.Buffer) {
	if buf.Cap() <= keepBytes {
		buf.Reset()
		c.answers.Put(buf)
	}
}

// parse reads an answer strictly: a duplicate name, a wrong type or bad UTF-8 is an error. The
// result does not alias body.
func parse(body []byte) (*answer, error) {
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("answer is larger than %d MiB", maxAnswer>>20)
	}
	text := bytes.TrimSpace(body)
	switch {
	case len(text) == 0:
		return nil, errors.New("answered nothing where JSON was expected")
	case text[0] == '<':
		return nil, fmt.Errorf("answered HTML where JSON was expected: %s", htmlTitle(text))
	case text[0] != '{':
		return nil, fmt.Errorf(`answered no JSON object with "results": %s`, Excerpt(text[:min(len(text), 64)], 64))
	}
	if jsonsize.Parts(text, maxParts) > maxParts {
		return nil, fmt.Errorf("answer has more than %d values", maxParts)
	}
	a := &answer{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("answer is broken: %s: %s", unreadable(err), Excerpt(text[:min(len(text), 64)], 64))
	}
	if a.Results == nil && a.Default == "" {
		return nil, errors.New(`answer has neither "results" nor "default"`)
	}
	return a, nil
}

// unreadable says what is wrong with a JSON document, without the names of Go types.
func unreadable(err error) string {
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONKind != 0 {
		return fmt.Sprintf("a JSON %s at %q is of the wrong type", e.JSONKind, e.JSONPointer)
	}
	return Excerpt([]byte(err.Error()), excerptBytes)
}

// htmlTitle returns the title of an HTML page, for error messages.
func htmlTitle(page []byte) string {
	const open = "<title>"
	start := bytes.Index(bytes.ToLower(page[:min(len(page), 64<<10)]), []byte(open))
	if start < 0 {
		return Excerpt(page, 64)
	}
	title, _, _ := bytes.Cut(page[start+len(open):], []byte("<"))
	return open + Excerpt(title, 64)
}

// apply sets the outcome of every item that was sent and has a result.
func (c *caller) apply(a *answer, t *weir.Task, sent []int32) error {
	rest, err := a.rest()
	if err != nil {
		return err
	}
	m := matcher{items: t.Items, sent: sent}
	for j := range a.Results {
		r := &a.Results[j]
		i, err := m.match(r.ID)
		if err != nil {
			return fmt.Errorf("results[%d]: %w", j, err)
		}
		if i < 0 {
			c.counters.UnknownIDs.Add(1)
			continue
		}
		if err := r.outcome(&t.Outcomes[i], c.now); err != nil {
			return fmt.Errorf("results[%d], id %q: %w", j, Excerpt([]byte(r.ID), maxCode), err)
		}
	}
	for _, i := range sent {
		if t.Outcomes[i].Kind != weir.OutcomeNone {
			continue
		}
		if rest.Kind == weir.OutcomeNone {
			c.counters.MissingIDs.Add(1)
		}
		t.Outcomes[i] = rest
	}
	return nil
}

// rest returns the outcome of items that the answer does not name.
func (a *answer) rest() (o weir.Outcome, err error) {
	if a.Default == "" {
		return o, nil
	}
	r := result{Status: a.Default}
	if err := r.outcome(&o, nil); err != nil {
		return o, fmt.Errorf("default: %w", err)
	}
	return o, nil
}

// outcome fills in o. A number in retry_after is in seconds; a text that is not a valid time
// leaves the delay to the action's backoff.
func (r *result) outcome(o *weir.Outcome, now func() time.Time) error {
	*o = weir.Outcome{Code: foreign(r.Code, maxCode), Message: foreign(r.Message, maxMessage)}
	switch r.Status {
	case "done":
		return r.done(o)
	case "failed":
		o.Kind = weir.OutcomeFailed
	case "left_out":
		o.Kind = weir.OutcomeLeftOut
	case "retry":
		o.Kind = weir.OutcomeRetry
		if err := r.delay(o, now); err != nil {
			return err
		}
	default:
		return fmt.Errorf(`status %q is none of "done", "retry", "failed", "left_out"`, Excerpt([]byte(r.Status), maxCode))
	}
	if o.Code == "" && o.Kind != weir.OutcomeRetry { // an item whose last attempt asks for another ends as gave_up
		o.Code = r.Status
	}
	return nil
}

func (r *result) done(o *weir.Outcome) error {
	*o = weir.Outcome{Kind: weir.OutcomeDone}
	if len(r.Output) > weir.MaxItemBytes {
		return fmt.Errorf("output has %d bytes, at most %d are allowed", len(r.Output), weir.MaxItemBytes)
	}
	if len(r.Output) > 0 && r.Output.Kind() != jsontext.KindNull {
		o.Output = r.Output
	}
	return nil
}

func (r *result) delay(o *weir.Outcome, now func() time.Time) error {
	if len(r.RetryAfter) == 0 {
		return nil
	}
	var wait time.Duration
	switch r.RetryAfter.Kind() {
	case jsontext.KindNull:
	case jsontext.KindNumber:
		wait, _ = seconds(string(r.RetryAfter))
	case jsontext.KindString:
		text, _ := jsontext.AppendUnquote(nil, r.RetryAfter) // was checked as it was read
		wait, _ = ParseWait(string(text), now())
	default:
		return fmt.Errorf(`retry_after is not a number of seconds, duration or date: %s`, Excerpt(r.RetryAfter, maxCode))
	}
	o.After = min(wait, retryMax)
	return nil
}

// foreign cuts text of an endpoint, so that no answer bloats the store. It counts the bytes of the text as [Run] cleans it,
// which has more.
func foreign(s string, limit int) string {
	clean := plain.Clean(cut(s, limit))
	if out := cut(clean, limit); len(s) > limit || len(out) < len(clean) {
		return out + "…"
	}
	return clean
}

// cut returns the first bytes of a text, without a part of a character at their end.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
