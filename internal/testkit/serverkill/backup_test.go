//go:build unix

package serverkill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine/backup"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/pebblestore"
	"github.com/weirhq/weir/store/redisstore"
)

const envCopied = "WEIR_SERVERKILL_COPIED" // items of the bulk action that is copied

// copied is a bulk action that is running while its store is copied.
type copied struct {
	*world
	s *story
	b api.BulkAction
}

// newCopied starts a server with a bulk action of many users.
func newCopied(ctx context.Context, t *testing.T) *copied {
	users := size(t, envCopied, 60_000)
	c := &copied{world: newWorld(t), s: &story{kind: "segment"}}
	for i := range users {
		c.s.items = append(c.s.items, userID(i))
	}
	c.start()
	n := api.NewBulkAction{
		Name: "segment", Steps: steps(), Start: true, Callback: &api.Callback{URL: c.web.URL + "/told/callback"},
		Source: &api.Source{Segment: &api.SegmentSource{URL: fmt.Sprintf("%s/segments/%d", c.web.URL, users)}, PageSize: 1000},
	}
	if err := c.post(ctx, bulkPath, "the-one", text(n), 201, &c.b); err != nil {
		t.Fatal(err)
	}
	c.s.bulk = c.b.ID
	return c
}

// done waits until a part of the work is done.
func (c *copied) done(ctx context.Context, part float64) {
	c.t.Helper()
	var b api.BulkAction
	var err error
	if !until(ctx, func() bool {
		err = c.get(ctx, bulkPath+"/"+c.s.bulk, &b)
		return err != nil || float64(b.Counts.Done) >= part*float64(len(c.s.items))
	}) || err != nil {
		c.t.Fatalf("%+v, %v", b.Counts, err)
	}
	if b.State.Final() {
		c.t.Fatalf("it ended before it could be copied: %+v", b.Counts)
	}
}

// open opens the store in a directory, or the one on Redis.
func (c *copied) open(redis string) backup.Target {
	c.t.Helper()
	log := slog.New(slog.DiscardHandler)
	if redis != "" {
		s, err := redisstore.Open(context.Background(), redisstore.Options{Addresses: []string{redis}, Mode: redisstore.Memory, Logger: log})
		if err != nil {
			c.t.Fatal(err)
		}
		return s
	}
	s, err := pebblestore.Open(c.dir, pebblestore.Options{Mode: pebblestore.Memory, Logger: log, Ballast: -1, MinFree: -1})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// copy copies the store that the server has used.
func (c *copied) copy(ctx context.Context) []byte {
	c.t.Helper()
	var file bytes.Buffer
	s := c.open(c.redis)
	_, err := backup.Write(ctx, s, &file, "test")
	if err != nil {
		c.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		c.t.Fatal(err)
	}
	return file.Bytes()
}

// move makes the server use another store, which has what was copied.
func (c *copied) move(ctx context.Context, redis string, file []byte, moved bool) {
	c.t.Helper()
	key, err := os.ReadFile(filepath.Join(c.dir, vault.FileName))
	if err != nil {
		c.t.Fatal(err)
	}
	c.dir, c.redis = c.t.TempDir(), redis
	if err := os.WriteFile(filepath.Join(c.dir, vault.FileName), key, 0o600); err != nil {
		c.t.Fatal(err)
	}
	s := c.open(redis)
	if _, err := backup.Restore(ctx, s, bytes.NewReader(file), backup.Options{Moved: moved}); err != nil {
		c.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// TestACopyOfAServerThatDiedGoesOn: a server is killed while it is copied, copied as a whole while it works, and killed for
// good. Its copy ends the work elsewhere: every item once in the report, and with the same keys where it ran again.
func TestACopyOfAServerThatDiedGoesOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := newCopied(ctx, t)
	c.done(ctx, 0.1)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *c.url.Load()+"/v1/backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	part, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	c.kill()
	rest, cut := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if _, checked := backup.Check(ctx, bytes.NewReader(append(part, rest...))); err != nil || (cut != nil) != (checked != nil) {
		t.Errorf("the copy was cut off: %v, and checks with %v", cut, checked)
	}

	c.start()
	c.done(ctx, 0.3)
	file, err := c.ask(ctx, request{method: http.MethodGet, path: "/v1/backup"})
	if err != nil || file.status != http.StatusOK {
		t.Fatalf("status %d, %v", file.status, err)
	}
	c.done(ctx, 0.4)
	c.kill()
	c.move(ctx, "", file.body, false)
	c.start()
	if err := c.judgeOne(ctx, c.s); err != nil {
		t.Errorf("%v\n%s", err, c.now.Stderr())
	}
	var b api.BulkAction
	if err := c.get(ctx, bulkPath+"/"+c.s.bulk, &b); err != nil || len(b.Losses) != 1 {
		t.Errorf("it tells of %d losses, want one: what ran after the copy is not known; %v", len(b.Losses), err)
	}
	often, have := c.down.came(c.s.bulk)
	t.Logf("%d users, a file of %d bytes; items came %d times, and have to %d times", len(c.s.items), len(file.body), often, have)
	c.end()
}

// TestAMoveToRedisAndBackLosesNothing: a server is stopped in the middle of the work, and goes on on Redis, and then on a
// disk again. No item is called more often than it has to be.
func TestAMoveToRedisAndBackLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := newCopied(ctx, t)
	c.done(ctx, 0.2)
	c.end()
	c.move(ctx, testenv.Redis(t).Addr, c.copy(ctx), true)
	c.start()
	c.done(ctx, 0.5)
	c.end()
	c.move(ctx, "", c.copy(ctx), true)
	c.start()
	if err := c.judgeOne(ctx, c.s); err != nil {
		t.Errorf("%v\n%s", err, c.now.Stderr())
	}
	var b api.BulkAction
	if err := c.get(ctx, bulkPath+"/"+c.s.bulk, &b); err != nil || len(b.Losses) != 0 {
		t.Errorf("it tells of losses: %+v, %v", b.Losses, err)
	}
	if often, have := c.down.came(c.s.bulk); often != have {
		t.Errorf("items came %d times, and have to %d times", often, have)
	}
	c.end()
}
