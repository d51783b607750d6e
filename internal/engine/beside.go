package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/store"
)

const (
	wantsTopic = "wants"
	meetEvery  = 500 * time.Millisecond
	wantsFor   = 4 * meetEvery // how long others believe what a node said last
)

// meetOthers tells the other nodes what this one has to run, and takes note of what they have, so
// that all of them together keep one order. A node that has nothing to run says and asks nothing.
func (e *Engine) meetOthers(ctx context.Context) {
	if !e.shared() {
		return
	}
	failing, spoke := false, false
	for ; ctx.Err() == nil; sleep(ctx, meetEvery) {
		var wants capacity.Wants
		e.share.do(func(n *capacity.Node) { wants = n.Wants(time.Now().UnixNano()) })
		if len(wants) == 0 && !spoke {
			continue
		}
		err := e.meet(ctx, wants)
		if err != nil && !failing && ctx.Err() == nil {
			e.log.LogAttrs(ctx, slog.LevelWarn, "what other nodes have to run is not known, will ask again", slog.Any("error", err))
		}
		failing, spoke = err != nil, len(wants) > 0
	}
}

func (e *Engine) meet(ctx context.Context, wants capacity.Wants) error {
	ctx, cancel := context.WithTimeout(ctx, meetEvery)
	defer cancel()
	if err := e.announceWants(ctx, wants); err != nil {
		return err
	}
	records, err := e.store.Announced(ctx, wantsTopic)
	if err != nil {
		return err
	}
	var others []capacity.Wants
	for _, r := range records {
		var w capacity.Wants
		if r.Name != e.node && json.Unmarshal(r.Value, &w) == nil { // one of another version may not be understood
			others = append(others, w)
		}
	}
	all := capacity.Gather(others)
	e.share.do(func(n *capacity.Node) { n.SetBeside(all) })
	return nil
}

// announceWants tells what this node has to run, or that it has nothing any more.
func (e *Engine) announceWants(ctx context.Context, wants capacity.Wants) error {
	if len(wants) == 0 {
		return e.store.Announce(ctx, wantsTopic, store.Record{Name: e.node}, 0)
	}
	raw, err := json.Marshal(wants)
	if err != nil {
		return err
	}
	return e.store.Announce(ctx, wantsTopic, store.Record{Name: e.node, Value: raw}, wantsFor)
}
