package server_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// disturbed is a store that spoils one write of a request, counted from 1.
type disturbed struct {
	store.Store
	mu    sync.Mutex
	nth   int
	spoil func(ctx context.Context) error // nil: nothing is spoiled
	gone  int                             // for so many calls of requests the store is away
	made  map[string]bool                 // what bulk actions were accepted by
}

// awayFor is long enough for a write to fail with all its repeats, and then for the end of the try to fail.
const awayFor = 4

// arm has the nth write of the next request spoiled; 0: none.
func (d *disturbed) arm(nth int, spoil func(ctx context.Context) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nth, d.spoil, d.gone = nth, spoil, 0
}

// left is how many writes there still are up to the one that is spoiled.
func (d *disturbed) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nth
}

func ofRequest(ctx context.Context) bool { return ctx.Value(http.ServerContextKey) != nil }

// before is what a call of a request meets.
func (d *disturbed) before(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone > 0 && ofRequest(ctx) {
		d.gone--
		return store.ErrUnavailable
	}
	return nil
}

// after is what becomes of the answer to a write.
func (d *disturbed) after(ctx context.Context) error {
	if !ofRequest(ctx) {
		return nil
	}
	d.mu.Lock()
	d.nth--
	now, spoil := d.nth == 0 && d.spoil != nil, d.spoil
	d.mu.Unlock()
	if !now {
		return nil
	}
	err := spoil(ctx)
	if err != nil {
		d.mu.Lock()
		d.gone = awayFor
		d.mu.Unlock()
	}
	return err
}

func (d *disturbed) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if err := d.before(ctx); err != nil {
		return err
	}
	if err := d.Store.PutBlocks(ctx, partition, id, first, blocks); err != nil {
		return err
	}
	return d.after(ctx)
}

func (d *disturbed) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	if err := d.before(ctx); err != nil {
		return err
	}
	if err := d.Store.Append(ctx, partition, body, c); err != nil {
		return err
	}
	if c.Key != "" {
		d.mu.Lock()
		d.made[c.Key] = true
		d.mu.Unlock()
	}
	return d.after(ctx)
}

func (d *disturbed) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	if err := d.before(ctx); err != nil {
		return nil, err
	}
	was, err := d.Store.Swap(ctx, name, old, value)
	if err != nil {
		return nil, err
	}
	return was, d.after(ctx)
}

func (d *disturbed) Lookup(ctx context.Context, name string) ([]byte, error) {
	if err := d.before(ctx); err != nil {
		return nil, err
	}
	return d.Store.Lookup(ctx, name)
}

// census counts what requests create: bulk actions, keys, schedules, webhooks.
type census [4]int

func (c census) less(d census) string {
	for i := range c {
		c[i] -= d[i]
	}
	return fmt.Sprint(c)
}

func (d *disturbed) census(p *place) census {
	p.w.t.Helper()
	drafts, err := d.List(p.w.t.Context(), "draft/", "", 10_000)
	if err != nil {
		p.w.t.Fatal(err)
	}
	d.mu.Lock()
	bulk := maps.Clone(d.made)
	d.mu.Unlock()
	for _, r := range drafts {
		bulk["\x00"+strings.TrimPrefix(r.Name, "draft/")] = true // what it is claimed by when it is submitted
	}
	var keys, schedules, webhooks api.Page[struct{}]
	p.w.must(p.keys["admin"], "GET", "/v1/keys?limit=1000", "", &keys)
	p.must("GET", "/v1/schedules?limit=1000", "", &schedules)
	p.must("GET", "/v1/webhooks?limit=1000", "", &webhooks)
	return census{len(bulk), len(keys.Data), len(schedules.Data), len(webhooks.Data)}
}

// disturbance is what happens to a request at one of its writes.
type disturbance struct {
	name  string
	spoil func(cut func()) func(ctx context.Context) error
	// over says that the try has ended when its client knows: a repeat must not be told that it is under way.
	over bool
}

var disturbances = []disturbance{
	{"the client is cut off", func(cut func()) func(context.Context) error {
		return func(ctx context.Context) error {
			cut()
			select { // a server that stops working for clients that are gone has time to notice
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
			return nil
		}
	}, false},
	{"the store goes away", func(func()) func(context.Context) error {
		return func(context.Context) error { return store.ErrUnknown }
	}, true},
}

// disturb makes a request that is disturbed at a write, if it has so many, and repeats it until it is decided.
func (d *disturbed) disturb(p *place, r server.Route, c call, nth int, x disturbance) (a answer, reached bool) {
	p.w.t.Helper()
	ctx, cut := context.WithCancel(p.w.t.Context())
	defer cut()
	key := fmt.Sprintf("%s, %s at %d", p.w.t.Name(), x.name, nth)
	d.arm(nth, x.spoil(cut))
	d.tryOnce(ctx, p, r, c, key)
	reached = d.left() <= 0
	d.arm(0, nil)
	p.w.until(key+" is decided", func() bool {
		a = p.do(r, c, "Idempotency-Key", key)
		if a.problem().Code == "in_progress" && x.over {
			p.w.t.Fatalf("%s: no try is under way, and the repeat is told that one is: %s", key, a.body)
		}
		return a.problem().Code != "in_progress"
	})
	return a, reached
}

// tryOnce makes a request as long as its context lasts. Nobody hears the answer.
func (d *disturbed) tryOnce(ctx context.Context, p *place, r server.Route, c call, key string) {
	req, err := http.NewRequestWithContext(ctx, r.Method, p.w.url+c.path, strings.NewReader(c.body))
	if err != nil {
		p.w.t.Fatal(err)
	}
	secret := p.keys["admin"]
	if c.operator {
		secret = p.w.admin
	}
	req.Header = http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// TestEveryKeyedRouteIsDoneOnceWhereverItIsCut: a request that is disturbed at any of its
// writes and repeated with its key is done once.
func TestEveryKeyedRouteIsDoneOnceWhereverItIsCut(t *testing.T) {
	d := &disturbed{Store: memstore.New(memstore.Options{}), made: map[string]bool{}}
	w := twoTenants(t, opening{store: d})
	for _, r := range w.routes() {
		if makeCall := calls[r.ID]; r.Keyed && makeCall != nil {
			t.Run(r.ID, func(t *testing.T) { d.everywhere(w.in(t).acme, r, makeCall) })
		}
		if r.ID == "bulk_action.create" {
			t.Run(r.ID+" with items", func(t *testing.T) { d.everywhere(w.in(t).acme, r, withItems) })
		}
	}
}

func withItems(*place) call {
	return call{path: "/v1/bulk-actions", body: `{"name":"spring","steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"},{"id":"u2"}]}`}
}

// everywhere disturbs a request at each of its writes in turn.
func (d *disturbed) everywhere(p *place, r server.Route, makeCall func(*place) call) {
	t := p.w.t
	once := func(do func(call) answer) (int, string) {
		c := makeCall(p)
		before := d.census(p)
		a := do(c)
		if r.ID == "schedule.backfill" { // makes its bulk action later
			p.w.until("the time is made up for", func() bool { return d.census(p)[0] > before[0] })
		}
		return a.status, d.census(p).less(before)
	}
	status, made := once(func(c call) answer { return p.do(r, c) })
	for _, x := range disturbances {
		for nth, more := 1, true; more; nth++ {
			gotStatus, got := once(func(c call) (a answer) { a, more = d.disturb(p, r, c, nth, x); return a })
			if gotStatus != status || got != made {
				t.Errorf("%s at write %d: status %d, made %s; want %d, %s", x.name, nth, gotStatus, got, status, made)
			}
		}
	}
}
