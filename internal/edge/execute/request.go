package execute

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
)

// Sizes of what a request adds to its items' bytes.
const (
	frameBytes = 320 // around all items
	itemBytes  = 100 // around each
)

// request is a call's body and the items in it. Each call allocates a new one: a transport may
// read a body after its call has ended, and a body that reports its last read would be sent in
// two packets.
type request struct {
	id   string // of the task
	body []byte
	sent []int32 // positions in task.Items; fewer than all when an item could not be written
}

// newRequest builds the body. An item that cannot be encoded fails as "bad_item" and is left
// out. Bytes are appended by hand, since this runs for every item.
func newRequest(ctx context.Context, t *weir.Task, input func(*weir.TaskItem) ([]byte, error)) *request {
	r := &request{id: taskID(t), sent: make([]int32, 0, len(t.Items))}
	b := append(make([]byte, 0, size(t)), `{"task":`...)
	b = appendText(b, r.id)
	b = append(b, `,"action":`...)
	b = appendText(b, t.Action)
	b = append(b, `,"bulk_action":`...)
	b = appendText(b, string(t.Bulk))
	b = append(b, `,"step":`...)
	b = appendText(b, t.Step)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(t.Attempt), 10)
	b = append(b, `,"dry_run":`...)
	b = strconv.AppendBool(b, t.DryRun)
	if d := deadline(ctx, t); !d.IsZero() {
		b = append(b, `,"deadline":"`...)
		b = d.UTC().AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	}
	b = append(b, `,"items":[`...)
	r.body = b
	r.writeItems(t, input)
	r.body = append(r.body, "]}"...)
	return r
}

// taskID returns the task's id, or one derived from its items if it has none. Only calls need
// an id, so it is made here.
func taskID(t *weir.Task) string {
	if t.ID != "" {
		return t.ID
	}
	h := fnv.New64a()
	var b [8]byte
	for i := range t.Items {
		binary.LittleEndian.PutUint64(b[:], uint64(t.Items[i].No))
		_, _ = h.Write(b[:]) // never fails
	}
	return fmt.Sprintf("tsk_%s.%d.%016x", strings.TrimPrefix(string(t.Bulk), "ba_"), t.StepNo, h.Sum64())
}

// size estimates the length of the body, rather too high than too low.
func size(t *weir.Task) int {
	n := frameBytes
	for i := range t.Items {
		it := &t.Items[i]
		n += itemBytes + len(it.ID) + len(it.Data) + len(it.Previous)
	}
	return n
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
		no := it.No
		if t.KeysOf != "" {
			no = t.KeyNos[i]
		}
		b = strconv.AppendInt(b, no, 10)
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

// keyStart returns an item's idempotency key without its number; see [weir.ItemKey].
func keyStart(t *weir.Task) []byte {
	b := make([]byte, 0, 80)
	b = append(b, `,"idempotency_key":`...)
	b = appendText(b, string(cmp.Or(t.KeysOf, t.Bulk)))
	b = append(b[:len(b)-1], '.') // over the closing quote
	b = strconv.AppendInt(b, int64(t.StepNo), 10)
	return append(b, '.')
}

func badItem(err error) weir.Outcome {
	return weir.Outcome{Kind: weir.OutcomeFailed, Code: "bad_item", Message: err.Error()}
}

// deadline returns when the answer is no longer useful.
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

// appendText appends one of our own strings as JSON.
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
