package scaling

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

const (
	nodesTopic = "lanes"
	planTopic  = "plan"
)

// Announce tells all nodes what this one observed of itself and of its lanes. They believe it for a time.
func Announce(ctx context.Context, s store.Registry, n *weir.Node, lasts time.Duration) error {
	return announce(ctx, s, nodesTopic, n.Name, n, lasts)
}

// Withdraw takes back what a node announced.
func Withdraw(ctx context.Context, s store.Registry, node string) error {
	return s.Announce(ctx, nodesTopic, store.Record{Name: node}, 0)
}

func announce(ctx context.Context, s store.Registry, topic, name string, value any, lasts time.Duration) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.Announce(ctx, topic, store.Record{Name: name, Value: raw}, lasts)
}

// Nodes returns what all nodes observed last.
func Nodes(ctx context.Context, s store.Registry) ([]weir.Node, error) {
	records, err := s.Announced(ctx, nodesTopic)
	if err != nil {
		return nil, fmt.Errorf("read lanes: %w", err)
	}
	nodes := make([]weir.Node, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r.Value, &nodes[i]); err != nil {
			return nil, fmt.Errorf("lanes of node %q: %w: %w", r.Name, store.ErrCorrupt, err)
		}
	}
	return nodes, nil
}

// Plan returns what the leader thinks of all lanes. Without a leader it is what was
// decided last.
func Plan(ctx context.Context, s store.Store) (p weir.Plan, err error) {
	records, err := s.Announced(ctx, planTopic)
	if err != nil {
		return p, fmt.Errorf("read the leader's plan: %w", err)
	}
	if len(records) > 0 {
		if err := json.Unmarshal(records[0].Value, &p); err != nil {
			return p, fmt.Errorf("the leader's plan: %w: %w", store.ErrCorrupt, err)
		}
		return p, nil
	}
	c := coord.New()
	err = eachDecision(stored.At(ctx, s, store.Control), func(_ []byte, d *weir.Decision) { c.Remember(d) })
	return c.Plan(0, nil), err
}
