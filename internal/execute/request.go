package execute

import (
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
)

// keepBytes is the largest buffer that is kept for the next call.
const keepBytes = 1 << 20

// request is a call's body and which items are in it.
type request struct {
	body []byte
	sent []int32 // positions in task.Items; fewer than all when an item could not be written
}

// write makes the body. An item that cannot be written is failed as "bad_item"
// and left out. Bytes are appended by hand: this runs for every item there is.
func (r *request) write(ctx context.Context, t *weir.Task, input func(*weir.TaskItem) ([]byte, error)) {
	b := append(r.body[:0], `{"task":`...)
	b = appendText(b, t.ID)
	b = append(b, `,"action":`...)
	b = appendText(b, t.Action)
	b = append(b, `,"bulk_action":`...)
	b = appendText(b, string(t.Bulk))
	b = append(b, `,"step":`...)
	b = appendText(b, t.Step)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(t.Attempt), 10)
	b = append(b, `,"dry_run":false`...)
	if d := deadline(ctx, t); !d.IsZero() {
		b = append(b, `,"deadline":"`...)
		b = d.UTC().AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	}
	b = append(b, `,"items":[`...)
	r.body = b
	r.sent = r.sent[:0]
	r.writeItems(t, input)
	r.body = append(r.body, "]}"...)
}

func (r *request) writeItems(t *weir.Task, input func(*weir.TaskItem) ([]byte, error)) {
	key := keyStart(t)
	for i := range t.Items {
		it := &t.Items[i]
		data := it.Data
		if input != nil {
			var err error
			if data, err = input(it); err != nil {
				t.Outcomes[i] = badItem(err)
				continue
			}
		}
		start := len(r.body)
		b := r.body
		if len(r.sent) > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b, err := appendString(b, it.ID)
		if err != nil {
			r.body, t.Outcomes[i] = b[:start], badItem(err)
			continue
		}
		b = append(b, key...)
		b = strconv.AppendInt(b, it.No, 10)
		b = append(b, `","data":`...)
		b = appendJSON(b, data)
		if len(it.Previous) > 0 {
			b = append(b, `,"previous":`...)
			b = append(b, it.Previous...)
		}
		r.body = append(b, '}')
		r.sent = append(r.sent, int32(i))
	}
}

// keyStart is all of an item's idempotency key but its number; see [weir.ItemKey].
func keyStart(t *weir.Task) []byte {
	b := make([]byte, 0, 80)
	b = append(b, `,"idempotency_key":`...)
	b = appendText(b, string(t.Bulk))
	b = append(b[:len(b)-1], '.') // over the closing quote
	b = strconv.AppendInt(b, int64(t.StepNo), 10)
	return append(b, '.')
}

func badItem(err error) weir.Outcome {
	return weir.Outcome{Kind: weir.Failed, Code: "bad_item", Message: err.Error()}
}

// deadline is when the answer is of no more use.
func deadline(ctx context.Context, t *weir.Task) time.Time {
	if !t.Deadline.IsZero() {
		return t.Deadline
	}
	d, _ := ctx.Deadline()
	return d
}

func appendJSON(b, v []byte) []byte {
	if len(v) == 0 {
		return append(b, "null"...)
	}
	return append(b, v...)
}

// appendText appends a string of ours as JSON.
func appendText(b []byte, s string) []byte {
	b, _ = appendString(b, s)
	return b
}

// appendString appends s as JSON. It fails on text that is not UTF-8: the
// endpoint's answer could not name it.
func appendString(b []byte, s string) ([]byte, error) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return jsontext.AppendQuote(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), nil
}

// buffers keeps requests for the next call.
type buffers struct{ pool sync.Pool }

// shared is a request in use by its caller and by bodies that a transport
// reads. The last one to let go gives it back: a transport may read on after
// its RoundTrip has returned.
type shared struct {
	request
	users atomic.Int32
	home  *buffers
}

// take returns a request that belongs to the caller until release.
func (p *buffers) take() *shared {
	s, _ := p.pool.Get().(*shared)
	if s == nil {
		s = &shared{home: p}
	}
	s.users.Store(1)
	return s
}

func (s *shared) release() {
	if s.users.Add(-1) == 0 && cap(s.body) <= keepBytes {
		s.home.pool.Put(s)
	}
}

// reader is one more reading of the body.
func (s *shared) reader() io.ReadCloser {
	s.users.Add(1)
	return &body{from: s, rest: s.request.body}
}

// body may be closed while it is read, as HTTP/2 does: hence the lock.
type body struct {
	mu   sync.Mutex
	from *shared // nil once closed
	rest []byte
}

// Read copies what is left.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close lets go of the request.
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from != nil {
		b.from.release()
		b.from, b.rest = nil, nil
	}
	return nil
}
