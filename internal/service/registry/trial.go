package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/check"
)

const (
	// maxShown bounds the part of a request or response that a trial shows.
	maxShown = 64 << 10
	// maxTrialItems bounds the items of a trial.
	maxTrialItems = 20
	// trialGrace is how long a handler may take to return after its timeout.
	trialGrace = time.Second
)

// Trial calls an action once with a few items, as a step does. It returns the request, the
// response and the resulting outcome of each item. A dry run tells the endpoint to change nothing.
// Go actions of the program are refused a dry run, because nothing guarantees that they check for
// it.
//
// A bad response of a handler is not an error of Trial: it is in the step's Error.
func (r *Actions) Trial(ctx context.Context, step, name string, items []weir.TaskItem, dryRun bool) (api.TrialStep, error) {
	a, err := r.Find(name)
	if err != nil || a.Deleted {
		return api.TrialStep{}, r.Unknown("action", name)
	}
	if len(items) == 0 || len(items) > maxTrialItems {
		return api.TrialStep{}, &weir.FieldError{Code: "out_of_range", Field: "items",
			Problem: fmt.Sprintf("has %d entries, not 1 to %d", len(items), maxTrialItems), Fix: "send a few"}
	}
	if dryRun && a.Kind != "http" {
		return api.TrialStep{}, &check.Refusal{
			Code: "wrong_state", Detail: fmt.Sprintf("action %q is part of the program: a trial would do the real work", name),
			Fix: `send "dry_run": false to run it anyway`,
		}
	}
	return r.tryAction(ctx, step, a, items, dryRun), nil
}

// tryAction makes the call.
func (r *Actions) tryAction(ctx context.Context, step string, a *Action, items []weir.TaskItem, dryRun bool) api.TrialStep {
	timeout := a.Base.Timeout
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	seen := &eavesdrop{to: r.transport}
	call, counters := a.do, &execute.Counters{}
	if a.Base.Endpoint != nil {
		h, err := execute.HTTP(a.Base, execute.HTTPOptions{Transport: seen, Memory: r.answers, Counters: counters})
		if err != nil {
			return api.TrialStep{Step: step, Action: a.Name, Error: err.Error(), Items: []api.ItemResult{}}
		}
		call = h
	}
	t := &weir.Task{
		ID:   "tsk_trial." + strings.ToLower(ulid.Make().String()),
		Bulk: weir.BulkID("trial_" + strings.ToLower(ulid.Make().String())), Tenant: "trial", Step: step, Action: a.Name,
		Attempt: 1, Deadline: time.Now().Add(timeout), Items: items, Outcomes: make([]weir.Outcome, len(items)),
		DryRun: dryRun, Heartbeat: func() {},
	}
	began := time.Now()
	returned, err := callOnce(ctx, call, t)
	if !returned { // the handler may still write into both: they belong to it now
		t = &weir.Task{Step: t.Step, Items: items, Outcomes: make([]weir.Outcome, len(items))}
		seen = &eavesdrop{}
	}
	out := api.TrialStep{
		Step: step, Action: a.Name, Request: seen.request, Status: seen.status, Response: seen.response,
		Took:  api.Duration(time.Since(began)),
		Items: trialResults(t, err),
	}
	out.Error = trialFault(t, err, counters)
	return out
}

// callOnce runs a handler on its own goroutine. It abandons a handler that does not return within
// trialGrace after its timeout.
func callOnce(ctx context.Context, call weir.Handler, t *weir.Task) (returned bool, err error) {
	ended := make(chan error, 1)
	go execute.Run(ctx, call, t, func(err error) { ended <- err })
	select {
	case err = <-ended:
		return true, err
	case <-ctx.Done():
	}
	late := time.NewTimer(trialGrace)
	defer late.Stop()
	select {
	case err = <-ended:
		return true, err
	case <-late.C:
		return false, &execute.CallError{Code: execute.CodeTimeout, Err: context.Cause(ctx)}
	}
}

// trialFault returns what is wrong with the response; empty: nothing.
func trialFault(t *weir.Task, err error, c *execute.Counters) string {
	if err != nil {
		return strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	var faults []string
	if n := c.UnknownIDs.Load(); n > 0 {
		faults = append(faults, fmt.Sprintf("%d results are for ids that were not sent; they would be ignored", n))
	}
	missing := 0
	for i := range t.Outcomes {
		if t.Outcomes[i].Kind == weir.OutcomeNone {
			missing++
		}
	}
	if missing > 0 {
		faults = append(faults, fmt.Sprintf(`%d items have no result and "default" is missing; they would be retried`, missing))
	}
	return strings.Join(faults, "; ")
}

// trialResults returns the outcome of each item.
func trialResults(t *weir.Task, err error) []api.ItemResult {
	out := make([]api.ItemResult, len(t.Items))
	for i := range t.Items {
		o := t.Outcomes[i]
		if err != nil {
			o = weir.Outcome{Kind: weir.OutcomeRetry, Code: execute.Code(err), Message: err.Error()}
		}
		x := api.ItemResult{
			Item: fmt.Sprintf("itm_trial-%d", i), ID: t.Items[i].ID, Step: t.Step, Attempts: 1, Code: o.Code,
			Message: strings.ToValidUTF8(o.Message, "\uFFFD"),
			Data:    validJSON(t.Items[i].Data), Output: validJSON(o.Output),
		}
		switch o.Kind {
		case weir.OutcomeDone:
			x.State = "done"
		case weir.OutcomeFailed:
			x.State = "failed"
		case weir.OutcomeLeftOut:
			x.State, x.Reason = "cancelled", "left_out"
		case weir.OutcomeNone:
			x.State, x.Code = "waiting", "no_result"
		case weir.OutcomeRetry, weir.OutcomeRefused:
			x.State = "waiting"
		}
		out[i] = x
	}
	return out
}

// validJSON returns a document unchanged, or nil if it is not valid JSON: a response must not
// break on it.
func validJSON(doc []byte) json.RawMessage {
	if !json.Valid(doc) {
		return nil
	}
	return doc
}

// eavesdrop is a transport that records requests and responses, both truncated.
type eavesdrop struct {
	to                http.RoundTripper
	request, response string
	status            int
}

// RoundTrip implements http.RoundTripper.
func (e *eavesdrop) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			raw, _ := io.ReadAll(io.LimitReader(body, maxShown+1)) // a buffer of ours
			e.request = shownText(raw)
		}
	}
	resp, err := e.to.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxShown+1))
	e.status, e.response = resp.StatusCode, shownText(head)
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return resp, nil
}

// failing is the rest of a body that could not be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// shownText returns the beginning of a body as text.
func shownText(raw []byte) string {
	cut := len(raw) > maxShown
	text := strings.ToValidUTF8(string(raw[:min(len(raw), maxShown)]), "\uFFFD")
	if cut {
		text += "…"
	}
	return text
}

// Test runs a trial with items that the caller made up.
func (r *Actions) Test(ctx context.Context, name string, in api.ActionTest) (api.TrialStep, error) {
	items := make([]weir.TaskItem, len(in.Items))
	var bad weir.InputError
	a, _ := r.Find(name) // Trial tells that it is unknown
	for i, it := range in.Items {
		field := fmt.Sprintf("items[%d]", i)
		if it.ID == "" {
			bad.Add("missing_id", field+".id", "is empty", "give the item an id")
		}
		data := []byte(it.Data)
		if len(data) == 0 {
			data = []byte("{}")
		}
		items[i] = weir.TaskItem{No: int64(i), ID: it.ID, Data: data}
		if a != nil && a.ItemSchema != nil { // a bulk action would refuse it, too
			for _, f := range a.ItemSchema.Check(field+".data", data) {
				bad.Add(f.Code, f.Field, f.Problem, f.Fix)
			}
		}
	}
	if err := bad.OrNil(); err != nil {
		return api.TrialStep{}, err
	}
	dry := in.DryRun == nil || *in.DryRun
	out, err := r.Trial(ctx, name, name, items, dry)
	if unknown := (*weir.FieldError)(nil); errors.As(err, &unknown) && unknown.Code == "unknown_action" {
		return out, weir.ErrNotFound
	}
	return out, err
}
