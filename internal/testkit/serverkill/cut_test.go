//go:build unix

package serverkill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/internal/testkit/testenv/life"
)

// envCreates sets the number of bulk actions created by clients that are cut off, as in WEIR_SERVERKILL_CREATES=500.
const envCreates = "WEIR_SERVERKILL_CREATES"

// nodes are three servers on one Redis, which are killed one at a time.
type nodes struct {
	*world
	redis string
	lives [3]*life.Process
	urls  [3]atomic.Pointer[string]
}

func (n *nodes) begin(i int) {
	n.t.Helper()
	n.lives[i] = life.Start(n.t, childTest, envDir+"="+n.dir, envWorld+"="+n.web.URL, envRedis+"="+n.redis)
	url, err := n.lives[i].Await("ready")
	if err != nil {
		n.t.Fatalf("node %d: %v", i, err)
	}
	n.urls[i].Store(&url)
}

// killUntil kills and restarts nodes at random moments until all clients are done, and returns how many it killed.
func (n *nodes) killUntil(over <-chan struct{}, random *rand.Rand) (kills int) {
	n.t.Helper()
	for {
		select {
		case <-over:
			return kills
		case <-time.After(time.Duration(20+random.IntN(300)) * time.Millisecond):
		}
		i := random.IntN(len(n.lives))
		if err := n.lives[i].Kill(); err != nil {
			n.t.Fatal(err)
		}
		n.begin(i)
		kills++
	}
}

// create asks one node after the other, and cuts the connection now and then, until one answers that it is made.
func (n *nodes) create(ctx context.Context, key, body string, random *rand.Rand) (string, error) {
	for ctx.Err() == nil {
		wait := 20 * time.Second
		if random.IntN(2) == 0 {
			wait = time.Duration(random.IntN(40_000)) * time.Microsecond
		}
		r, err := n.createOnce(ctx, random.IntN(len(n.urls)), key, body, wait)
		switch {
		case err != nil, r.status >= 500, r.problem() == "in_progress": // cut, killed, or another try is under way
			<-time.After(time.Duration(random.IntN(30)) * time.Millisecond)
		case r.status == http.StatusCreated:
			var b api.BulkAction
			err := json.Unmarshal(r.body, &b)
			return b.ID, err
		default:
			return "", fmt.Errorf("create %s: status %d: %s", key, r.status, r.body)
		}
	}
	return "", fmt.Errorf("create %s: %w", key, ctx.Err())
}

func (n *nodes) createOnce(ctx context.Context, node int, key, body string, wait time.Duration) (reply, error) {
	ctx, cut := context.WithTimeout(ctx, wait)
	defer cut()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *n.urls[node].Load()+bulkPath, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	resp, err := n.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, raw}, err
}

// Clients that are cut off at random moments and repeat with their key, at any of
// three nodes that are killed meanwhile, make one bulk action per key.
func TestCutAndRepeatedCreatesMakeOneBulkActionPerKey(t *testing.T) {
	t.Parallel()
	creates := size(t, envCreates, 60)
	n := &nodes{world: newWorld(t), redis: testenv.Redis(t, "appendonly", "yes").Addr}
	for i := range n.lives {
		n.begin(i)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+time.Duration(creates)*time.Second)
	defer cancel()
	ids := make([]string, creates)
	over := make(chan struct{})
	var working sync.WaitGroup
	for c := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(c)))
		working.Go(func() {
			for k := c; k < creates; k += clients {
				var err error
				if ids[k], err = n.create(ctx, fmt.Sprintf("key-%d", k), createBody(k), random); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() { working.Wait(); close(over) }()
	kills := n.killUntil(over, rand.New(rand.NewPCG(seed, 99)))
	if t.Failed() {
		t.FailNow()
	}
	n.url.Store(n.urls[0].Load())
	err := errors.Join(n.onePerKey(ctx, ids), n.itemsUnderOneKey(ids))
	t.Logf("%d creates, %d kills", creates, kills)
	if err != nil {
		t.Error(err)
	}
	for _, p := range n.lives {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

const itemsOfEach = 20

func createBody(k int) string {
	b := api.NewBulkAction{Name: fmt.Sprintf("key-%d", k), Steps: steps(), Start: true}
	for i := range itemsOfEach {
		b.Items = append(b.Items, api.Item{ID: fmt.Sprintf("k%d-%d", k, i)})
	}
	return text(b)
}

// onePerKey waits for all bulk actions to end, and checks that each key has one and nothing else is there.
func (n *nodes) onePerKey(ctx context.Context, ids []string) (err error) {
	for k, id := range ids {
		var b api.BulkAction
		if !until(ctx, func() bool { return n.get(ctx, bulkPath+"/"+id, &b) == nil && b.State == api.Completed }) {
			err = errors.Join(err, fmt.Errorf("key %d: %s is %s", k, id, b.State))
		}
	}
	var page api.Page[api.BulkAction]
	if failed := n.get(ctx, bulkPath+"?limit=1000", &page); failed != nil {
		return errors.Join(err, failed)
	}
	if len(page.Data) != len(ids) || page.HasMore {
		err = errors.Join(err, fmt.Errorf("there are %d bulk actions for %d keys", len(page.Data), len(ids)))
	}
	return err
}

// itemsUnderOneKey checks that every item came in its bulk action alone, and with one key at each step.
func (n *nodes) itemsUnderOneKey(ids []string) (err error) {
	n.down.mu.Lock()
	defer n.down.mu.Unlock()
	for _, wrong := range n.down.wrong {
		err = errors.Join(err, errors.New(wrong))
	}
	if len(n.down.calls) != len(ids) {
		err = errors.Join(err, fmt.Errorf("items of %d bulk actions came, want those of %d", len(n.down.calls), len(ids)))
	}
	for k, id := range ids {
		if got := len(n.down.calls[id]); got != itemsOfEach {
			err = errors.Join(err, fmt.Errorf("key %d: %d items of %s came, want %d", k, got, id, itemsOfEach))
		}
	}
	return err
}
