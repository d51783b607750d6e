package weirtest

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
)

// CheckHTTPAction calls an HTTP batch endpoint as weir would, with trial
// batches of item, and fails the test where the endpoint breaks the contract of
// [weir.HTTPAction]. The endpoint may be written in any language. See
// [HTTPCheck] for what is checked, and for endpoints that verify signatures.
func CheckHTTPAction(t testing.TB, url string, item json.RawMessage) {
	t.Helper()
	HTTPCheck{URL: url, Item: item}.Run(t)
}

// HTTPCheck checks that an HTTP batch endpoint
//
//   - answers 200 with a result for every item, and for no other;
//   - answers the same for the same idempotency key, also when the items come
//     in another order or in another batch, as they do after a failure;
//   - ignores unknown fields;
//   - refuses calls that are unsigned, forged or old, when Secret is set.
type HTTPCheck struct {
	// URL of the endpoint.
	URL string
	// Item is the document of the trial items. It should be one that succeeds. Default {}.
	Item json.RawMessage
	// Secret is the secret that the endpoint verifies signatures with. Default: calls are
	// signed with a random one, and the endpoint is not expected to verify them.
	Secret string
	// Header is sent with every call.
	Header map[string]string
	// Timeout ends a call. Default 30s.
	Timeout time.Duration
}

// Run makes the calls, about ten of them.
func (c HTTPCheck) Run(t testing.TB) {
	t.Helper()
	k, err := newChecker(t, c)
	if err != nil {
		t.Fatalf("HTTPCheck: %v", err)
		return
	}
	defer k.transport.CloseIdleConnections()
	k.checkResults()
	if t.Failed() {
		return // what follows compares with these results
	}
	k.checkKeys()
	k.checkUnknownFields()
	if c.Secret != "" {
		k.checkSignature()
	}
}

// checker makes the calls of one check. Their items carry keys that no other
// check has used.
type checker struct {
	t         testing.TB
	call      weir.Handler
	counters  execute.Counters
	transport *http.Transport
	signer    *execute.Signer
	bulk      weir.BulkID
	item      json.RawMessage
	first     []weir.Outcome // of the first call
	// edit changes the next call and returns its body. nil: as it is.
	edit func(h http.Header, body []byte) []byte
}

func newChecker(t testing.TB, c HTTPCheck) (*checker, error) {
	if len(c.Item) == 0 {
		c.Item = json.RawMessage("{}")
	}
	if !json.Valid(c.Item) {
		return nil, fmt.Errorf("item %.60q is not valid JSON", c.Item)
	}
	if c.Secret == "" {
		c.Secret = newSecret()
	}
	signer, err := execute.NewSigner(c.Secret)
	if err != nil {
		return nil, err
	}
	k := &checker{t: t, transport: execute.NewTransport(), signer: signer, item: c.Item, bulk: weir.BulkID("ba_" + rand.Text())}
	step := weir.Step{
		Name: "weirtest", Action: "weirtest", Timeout: cmp.Or(c.Timeout, 30*time.Second),
		Endpoint: &weir.Endpoint{URL: c.URL, Secret: c.Secret, Header: c.Header},
	}
	k.call, err = execute.HTTP(step, execute.HTTPOptions{Transport: editor{k}, Counters: &k.counters})
	return k, err
}

func newSecret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}

// send calls with the trial items of these numbers.
func (k *checker) send(attempt int, numbers ...int) ([]weir.Outcome, error) {
	task := &weir.Task{
		ID: "tsk_" + rand.Text(), Bulk: k.bulk, Tenant: "weirtest", Step: "weirtest", Action: "weirtest",
		Attempt: attempt, Outcomes: make([]weir.Outcome, len(numbers)),
	}
	for _, n := range numbers {
		task.Items = append(task.Items, weir.TaskItem{No: int64(n), ID: fmt.Sprintf("weirtest-%d", n), Data: k.item})
	}
	err := k.call(k.t.Context(), task)
	return task.Outcomes, err
}

func (k *checker) checkResults() {
	k.t.Helper()
	got, err := k.send(1, 0, 1, 2)
	if err != nil {
		k.t.Errorf("a call with 3 items: %v", err)
		return
	}
	for n, o := range got {
		switch {
		case o.Kind == weir.OutcomeNone:
			k.t.Errorf("item %d of 3 has no result; name every item in \"results\", or set \"default\"", n+1)
		case o.Code == execute.CodeClientError:
			k.t.Errorf("a call with 3 items: answered %s; answer 200 with a result per item", o.Message)
			return
		}
	}
	if n := k.counters.UnknownIDs.Load(); n > 0 {
		k.t.Errorf("%d results are for ids that were not in the call; repeat each item's \"id\" as it came", n)
	}
	k.first = got
}

// checkKeys repeats keys as weir does after a failure: keys belong to items,
// not to calls.
func (k *checker) checkKeys() {
	k.t.Helper()
	for _, again := range []struct {
		name    string
		numbers []int
	}{
		{"the same batch again", []int{0, 1, 2}},
		{"the same keys in another order", []int{2, 0, 1}},
		{"the same key in a batch of its own", []int{1}},
	} {
		k.compare(again.name, again.numbers)
	}
}

func (k *checker) checkUnknownFields() {
	k.t.Helper()
	k.edit = func(h http.Header, body []byte) []byte {
		body = bytes.Replace(body, []byte(`{`), []byte(`{"weirtest_unknown":{"a":[1]},`), 1)
		body = bytes.ReplaceAll(body, []byte(`{"id":"weirtest-`), []byte(`{"weirtest_unknown":true,"id":"weirtest-`))
		k.signer.Sign(h, h.Get(execute.HeaderID), time.Now(), body)
		return body
	}
	defer func() { k.edit = nil }()
	k.compare("a call with fields that are not documented", []int{0, 1, 2})
}

// compare sends items again and expects the results of the first call.
func (k *checker) compare(name string, numbers []int) {
	k.t.Helper()
	got, err := k.send(2, numbers...)
	if err != nil {
		k.t.Errorf("%s: %v", name, err)
		return
	}
	for i, n := range numbers {
		if want := k.first[n]; want.Kind != weir.OutcomeRetry && !same(got[i], want) {
			k.t.Errorf("%s: item %d is %s, at first it was %s; remember answers by \"idempotency_key\"",
				name, n+1, show(got[i]), show(want))
		}
	}
}

// same ignores the message, which is for people, and how the output is written.
func same(a, b weir.Outcome) bool {
	return a.Kind == b.Kind && a.Code == b.Code && canonical(a.Output) == canonical(b.Output)
}

func canonical(raw []byte) string {
	v := jsontext.Value(raw).Clone()
	if len(v) == 0 || v.Canonicalize() != nil {
		return string(raw)
	}
	return string(v)
}

func show(o weir.Outcome) string {
	return fmt.Sprintf("%v %s%.200s", o.Kind, o.Code, o.Output)
}

func (k *checker) checkSignature() {
	k.t.Helper()
	stranger, err := execute.NewSigner(newSecret())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, forged := range []struct {
		name string
		edit func(h http.Header, body []byte) []byte
	}{
		{"an unsigned call", func(h http.Header, body []byte) []byte {
			h.Del(execute.HeaderSignature)
			return body
		}},
		{"a call that was changed after it was signed", func(_ http.Header, body []byte) []byte {
			return append(body, ' ')
		}},
		{"a call signed with another secret", func(h http.Header, body []byte) []byte {
			stranger.Sign(h, h.Get(execute.HeaderID), time.Now(), body)
			return body
		}},
		{"a call signed an hour ago", func(h http.Header, body []byte) []byte {
			k.signer.Sign(h, h.Get(execute.HeaderID), time.Now().Add(-time.Hour), body)
			return body
		}},
	} {
		k.edit = forged.edit
		if got, err := k.send(1, 0); !turnedAway(got, err) {
			k.t.Errorf("%s was answered with %s (error: %v); answer 401", forged.name, show(got[0]), err)
		}
	}
	k.edit = nil
}

// turnedAway reports whether a call was answered 400, 401, 403 or the like.
func turnedAway(got []weir.Outcome, err error) bool {
	var setup *execute.EndpointError
	if errors.As(err, &setup) {
		return setup.Status == http.StatusUnauthorized || setup.Status == http.StatusForbidden
	}
	return err == nil && got[0].Code == execute.CodeClientError
}

// editor changes calls on their way out.
type editor struct{ *checker }

// RoundTrip sends what the checker's edit makes of the call.
func (e editor) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.edit == nil {
		return e.transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	body = e.edit(r.Header, body)
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(bytes.NewReader(body)), nil, int64(len(body))
	return e.transport.RoundTrip(r)
}
