package callback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
)

const (
	// maxAnswer bounds the bytes read of a response.
	maxAnswer = 64 << 10
	// contentType is the content type of an event in the structured mode of CloudEvents.
	contentType = "application/cloudevents+json; charset=UTF-8"
)

// sender makes attempts: by HTTP, or to a topic.
type sender struct {
	client    *http.Client
	topics    map[string]*producer // by endpoint
	endpoints *Endpoints
	events    *records.Table[eventRecord]
	timeout   time.Duration
	tracer    weir.Tracer // nil: traces are off
}

func newSender(o *Options, e *Endpoints, events *records.Table[eventRecord]) *sender {
	return &sender{
		client: &http.Client{
			Transport: o.Transport,
			// A redirect is not followed: the endpoint would choose where we call.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		topics: map[string]*producer{}, endpoints: e, events: events, timeout: o.Timeout, tracer: o.Tracer,
	}
}

// send makes an attempt. An error means that none was made, for an internal reason.
func (s *sender) send(ctx context.Context, d Delivery) (Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout) // includes reads of the store: the claim ends soon after
	defer cancel()
	ev, err := s.events.Get(ctx, d.Event)
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		return Attempt{At: wall(), Code: CodeExpired, Error: "the event was removed or is damaged"}, nil
	}
	if err != nil {
		return Attempt{}, err
	}
	began := time.Now()
	ctx, span := s.trace(ctx, ev.Value.Trace)
	a, err := s.sendTo(ctx, d, ev.Value.Body)
	a.At, a.Took = began.Round(0).UTC(), time.Since(began)
	if err == nil {
		s.ended(span, d, &a)
	}
	return a, err
}

func (s *sender) sendTo(ctx context.Context, d Delivery, body []byte) (Attempt, error) {
	if d.Kind == KindKafka {
		p := s.topics[d.Endpoint]
		if p == nil {
			return Attempt{Code: CodeTopic, Error: "the topic is not configured on this node"}, nil
		}
		return p.produce(ctx, d, body), nil
	}
	to, err := s.address(ctx, d)
	if errors.Is(err, errDisabled) {
		return Attempt{Code: CodeDisabled, Error: err.Error()}, nil
	}
	if errors.Is(err, errUnreadable) {
		s.endpoints.log.LogAttrs(ctx, slog.LevelError, "cannot sign a delivery", slog.String("delivery", d.ID), slog.Any("error", err))
		return Attempt{Code: CodeSecret, Error: errUnreadable.Error()}, nil
	}
	if err != nil {
		return Attempt{}, err
	}
	return s.post(ctx, to, d.Event, body), nil
}

// errDisabled means that an endpoint is disabled or removed.
var errDisabled = errors.New("the endpoint is disabled or removed")

// address returns the present URL of a delivery, with the secrets that sign now: an endpoint may
// have moved or changed its secret since the event.
func (s *sender) address(ctx context.Context, d Delivery) (Target, error) {
	place, url, sealed := placeOfDelivery(d.ID), d.URL, d.Sealed
	if d.Endpoint != "" {
		e, err := s.endpoints.table.Get(ctx, d.Endpoint)
		if errors.Is(err, weir.ErrNotFound) || err == nil && !e.Value.Enabled && d.Type != TypePing {
			return Target{}, errDisabled
		}
		if err != nil {
			return Target{}, err
		}
		place, url, sealed = placeOfEndpoint(d.Endpoint), e.Value.URL, e.Value.Sealed
	}
	held, err := s.endpoints.secrets.open(place, sealed)
	if err != nil {
		return Target{}, err
	}
	return Target{URL: url, Secret: held.at(time.Now())}, nil
}

// post calls an endpoint.
func (s *sender) post(ctx context.Context, to Target, id string, body []byte) Attempt {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return failure(ctx, err)
	}
	req.Header = http.Header{
		"Content-Type":    {contentType},
		"User-Agent":      {"weir"},
		"Idempotency-Key": nil, // not sent; lets the transport call again when an idle connection turns out closed
	}
	if at := weir.TraceOf(ctx).String(); at != "" {
		req.Header[execute.HeaderTraceparent] = []string{at}
	}
	if err := sign(req.Header, to.Secret, id, body); err != nil {
		return Attempt{Code: CodeSecret, Error: err.Error()}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return failure(ctx, err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // the status decides; the body is for people
	a := verdict(resp, answer)
	a.asked, _ = execute.ParseWait(resp.Header.Get("Retry-After"), time.Now()) // an invalid value asks for no delay
	return a
}

// sign sets the headers of Standard Webhooks, without a signature if there are no secrets.
func sign(h http.Header, secretText, id string, body []byte) error {
	if secretText == "" {
		h[execute.HeaderID] = []string{id}
		h[execute.HeaderTimestamp] = []string{strconv.FormatInt(time.Now().Unix(), 10)}
		return nil
	}
	by, err := execute.NewSigner(secretText)
	if err != nil {
		return fmt.Errorf("cannot be signed: %w", err) // it never repeats the secret
	}
	by.Sign(h, id, time.Now(), body)
	return nil
}
