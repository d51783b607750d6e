package limits

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	wantsTopic = "wants"
	meetEvery  = 500 * time.Millisecond
	wantsFor   = 4 * meetEvery // how long others believe what a node said last
)

// meetOthers tells the other nodes what this one has to run, and takes note of what they have, so
// that all of them together keep one order. A node that has nothing to run says and asks nothing.
func (c *Control) meetOthers(ctx context.Context) {
	if !c.Shared {
		return
	}
	failing, spoke := false, false
	for ; ctx.Err() == nil; own.Pause(ctx, meetEvery, nil) {
		var wants capacity.Wants
		c.can.do(func(n *capacity.Node) { wants = n.Wants(time.Now().UnixNano()) })
		if len(wants) == 0 && !spoke {
			continue
		}
		err := c.meet(ctx, wants)
		if err != nil && !failing && ctx.Err() == nil {
			c.Log.LogAttrs(ctx, slog.LevelWarn, "what other nodes have to run is not known, will ask again", slog.Any("error", err))
		}
		failing, spoke = err != nil, len(wants) > 0
	}
}

func (c *Control) meet(ctx context.Context, wants capacity.Wants) error {
	ctx, cancel := context.WithTimeout(ctx, meetEvery)
	defer cancel()
	if err := c.announceWants(ctx, wants); err != nil {
		return err
	}
	records, err := c.Store.Announced(ctx, wantsTopic)
	if err != nil {
		return err
	}
	var others []capacity.Wants
	for _, r := range records {
		var w capacity.Wants
		if r.Name != c.Node && json.Unmarshal(r.Value, &w) == nil { // one of another version may not be understood
			others = append(others, w)
		}
	}
	all := capacity.Gather(others)
	c.can.do(func(n *capacity.Node) { n.SetBeside(all) })
	return nil
}

// announceWants tells what this node has to run, or that it has nothing any more.
func (c *Control) announceWants(ctx context.Context, wants capacity.Wants) error {
	if len(wants) == 0 {
		return c.Store.Announce(ctx, wantsTopic, store.Record{Name: c.Node}, 0)
	}
	raw, err := json.Marshal(wants)
	if err != nil {
		return err
	}
	return c.Store.Announce(ctx, wantsTopic, store.Record{Name: c.Node, Value: raw}, wantsFor)
}
