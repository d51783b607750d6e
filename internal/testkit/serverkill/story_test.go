//go:build unix

package serverkill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

const bulkPath = "/v1/bulk-actions"

// story records what one client did, and the expected result. Everything in it was acknowledged.
type story struct {
	no        int
	kind      string
	bulk      string // empty: a schedule makes it
	schedule  string
	items     []string
	draft     bool            // it was never sealed
	cancelled bool            // it was answered that it is being cancelled, or is
	ended     *api.BulkAction // an answer that told its end: it must stay so
}

// teller tells stories to the server.
type teller struct {
	*world
	random *rand.Rand
	*story
}

// stories are the kinds of stories.
var stories = []struct {
	kind string
	tell func(*teller, context.Context) error
}{
	{"filled", (*teller).fill},
	{"filled", (*teller).fill},
	{"filled", (*teller).fill},
	{"left", (*teller).leave},
	{"inline", (*teller).inline},
	{"uploaded", (*teller).upload},
	{"imported", (*teller).imported},
	{"scheduled", (*teller).scheduled},
}

// tell tells story no.
func (w *world) tell(ctx context.Context, no int) (*story, error) {
	random := rand.New(rand.NewPCG(seed, uint64(no)))
	one := stories[no%len(stories)]
	t := &teller{w, random, &story{no: no, kind: one.kind}}
	if err := one.tell(t, ctx); err != nil {
		return t.story, fmt.Errorf("story %d, %s, of %s: %w", no, one.kind, t.bulk, err)
	}
	return t.story, nil
}

// key returns an idempotency key of this story.
func (t *teller) key(what string) string { return fmt.Sprintf("story-%d-%s", t.no, what) }

func (t *teller) chance(percent int) bool { return t.random.IntN(100) < percent }

// spec returns a bulk action to be made.
func (t *teller) spec() api.NewBulkAction {
	return api.NewBulkAction{
		Name: t.key(t.kind), Tenant: "tenant-" + strconv.Itoa(t.no%3), Steps: steps(),
		Callback: &api.Callback{URL: t.web.URL + "/told/callback"},
	}
}

// create makes the bulk action, and now and then asks for it twice.
func (t *teller) create(ctx context.Context, n api.NewBulkAction) error {
	var b api.BulkAction
	if err := t.post(ctx, bulkPath, t.key("create"), text(n), http.StatusCreated, &b); err != nil {
		return err
	}
	t.bulk = b.ID
	if !t.chance(30) {
		return nil
	}
	if err := t.post(ctx, bulkPath, t.key("create"), text(n), http.StatusCreated, &b); err != nil {
		return err
	}
	if b.ID != t.bulk {
		return fmt.Errorf("created again with the same key it is %s", b.ID)
	}
	return nil
}

// fresh returns n new items.
func (t *teller) fresh(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("s%d-%d", t.no, len(t.items)+i)
	}
	return ids
}

// body writes items as CSV or NDJSON.
func body(ids []string, csv bool) (kind, text string) {
	var b strings.Builder
	if csv {
		b.WriteString("id,n\n")
	}
	for i, id := range ids {
		if csv {
			fmt.Fprintf(&b, "%s,%d\n", id, i)
		} else {
			fmt.Fprintf(&b, "{\"id\":%q,\"n\":%d}\n", id, i)
		}
	}
	if csv {
		return "text/csv", b.String()
	}
	return "application/x-ndjson", b.String()
}

// append adds items, and what must not be added.
func (t *teller) append(ctx context.Context, no int) error {
	ids := t.fresh(20 + t.random.IntN(500))
	kind, rows := body(ids, t.chance(50))
	q := request{method: http.MethodPost, path: bulkPath + "/" + t.bulk + "/items", kind: kind, key: t.key("append-" + strconv.Itoa(no)), body: rows}
	if t.chance(30) { // a client that is cut off: none of it counts
		half := q
		half.key += "-cut"
		if r, err := t.once(ctx, half, &cutBody{bytes.NewReader([]byte(strings.ReplaceAll(rows, "s", "cut")[:len(rows)/2]))}); err == nil && r.status < 300 {
			return fmt.Errorf("half a body was accepted: %s", r.body)
		}
	}
	var a api.Appended
	if err := t.want(ctx, q, http.StatusAccepted, &a); err != nil {
		return err
	}
	t.items = append(t.items, ids...)
	if a.Accepted != int64(len(ids)) || a.Total != int64(len(t.items)) {
		return fmt.Errorf("append %d: accepted %d of %d, total %d of %d", no, a.Accepted, len(ids), a.Total, len(t.items))
	}
	if t.chance(20) { // the answer was lost, say
		if err := t.want(ctx, q, http.StatusAccepted, &a); err != nil {
			return err
		}
		if a.Accepted != int64(len(ids)) || a.Total != int64(len(t.items)) {
			return fmt.Errorf("append %d repeated: accepted %d of %d, total %d of %d", no, a.Accepted, len(ids), a.Total, len(t.items))
		}
	}
	return nil
}

// appends makes a draft with some items.
func (t *teller) appends(ctx context.Context) error {
	if err := t.create(ctx, t.spec()); err != nil {
		return err
	}
	for i := range 2 + t.random.IntN(3) {
		if err := t.append(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// fill creates, appends, seals, starts, and sometimes cancels.
func (t *teller) fill(ctx context.Context) error {
	if err := t.appends(ctx); err != nil {
		return err
	}
	at := bulkPath + "/" + t.bulk
	if t.chance(20) {
		wrong := fmt.Sprintf(`{"expected_items":%d}`, len(t.items)+1)
		if err := t.post(ctx, at+"/seal", t.key("wrong-seal"), wrong, http.StatusConflict, nil); err != nil {
			return err
		}
	}
	started := t.chance(50)
	var b api.BulkAction
	if err := t.post(ctx, at+"/seal", t.key("seal"), fmt.Sprintf(`{"expected_items":%d,"start":%v}`, len(t.items), started), http.StatusOK, &b); err != nil {
		return err
	}
	if b.Counts.Total != int64(len(t.items)) {
		return fmt.Errorf("sealed with %d of %d items", b.Counts.Total, len(t.items))
	}
	if !started {
		if err := t.post(ctx, at+"/start", t.key("start"), `{}`, http.StatusOK, nil); err != nil {
			return err
		}
	}
	if t.chance(30) {
		return t.cancel(ctx)
	}
	return nil
}

// cancel ends the bulk action, unless it has ended by itself.
func (t *teller) cancel(ctx context.Context) error {
	<-time.After(time.Duration(t.random.IntN(60)) * time.Millisecond)
	r, err := t.ask(ctx, request{
		method: http.MethodPost, path: bulkPath + "/" + t.bulk + "/cancel", kind: "application/json", key: t.key("cancel"), body: `{"reason":"changed my mind"}`,
	})
	switch {
	case err != nil:
		return err
	case r.status == http.StatusOK:
		var b api.BulkAction
		if err := json.Unmarshal(r.body, &b); err != nil {
			return err
		}
		t.cancelled = true
		if b.State.Final() {
			t.ended = &b
		}
	case r.problem() != "already_ended":
		return fmt.Errorf("cancel: status %d: %s", r.status, r.body)
	}
	return nil
}

// leave creates a draft that is never sealed.
func (t *teller) leave(ctx context.Context) error {
	t.draft = true
	return t.appends(ctx)
}

// inline has the items in the request.
func (t *teller) inline(ctx context.Context) error {
	n := t.spec()
	n.Start = true
	t.items = t.fresh(1 + t.random.IntN(60))
	for _, id := range t.items {
		n.Items = append(n.Items, api.Item{ID: id})
	}
	return t.create(ctx, n)
}

// imported has the items read from a segment.
func (t *teller) imported(ctx context.Context) error {
	n := t.spec()
	n.Start, n.Source = true, t.segment()
	return t.create(ctx, n)
}

// segment returns a source of some users.
func (t *teller) segment() *api.Source {
	users := 100 + t.random.IntN(900)
	for i := range users {
		t.items = append(t.items, userID(i))
	}
	return &api.Source{Segment: &api.SegmentSource{URL: t.web.URL + "/segments/" + strconv.Itoa(users)}, PageSize: 100}
}

// scheduled has a schedule make it a moment later.
func (t *teller) scheduled(ctx context.Context) error {
	n := t.spec()
	n.Source = t.segment()
	at := time.Now().Add(time.Duration(1000+t.random.IntN(1500)) * time.Millisecond).UTC().Truncate(time.Second).Add(time.Second)
	var s api.Schedule
	err := t.post(ctx, "/v1/schedules", t.key("schedule"), text(api.Schedule{Name: t.key("schedule"), Tenant: n.Tenant, At: at.Format(time.RFC3339), BulkAction: n}), http.StatusCreated, &s)
	t.schedule = s.ID
	return err
}
