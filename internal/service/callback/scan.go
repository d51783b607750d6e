package callback

import (
	"context"
	"log/slog"
	"time"
)

// horizon is how far ahead jobs are held in memory: enough that the next scan comes before the
// jobs left in the store are due.
func (n *Notifier) horizon() time.Duration {
	return max(2*n.opts.ScanEvery, time.Duration(2*n.scanRest.Load()))
}

// scanOften scans for pending deliveries again and again: those pending when this node started,
// those noted by other nodes, and those due later. It rests at least ten times as long as a scan
// took, to spare the store.
func (n *Notifier) scanOften(ctx context.Context) {
	for {
		began := time.Now()
		if err := n.scan(ctx); err != nil && ctx.Err() == nil {
			n.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot list pending deliveries", slog.Any("error", err))
		}
		pause := max(n.opts.ScanEvery, 10*time.Since(began))
		n.scanRest.Store(int64(pause))
		if !sleep(ctx, pause) {
			return
		}
	}
}

// scan queues the pending deliveries that this node sends and that are due soon.
func (n *Notifier) scan(ctx context.Context) error {
	until := time.Now().Add(n.horizon())
	var oldest time.Time
	for e, err := range n.notices.All(ctx, pendingList) {
		if err != nil && e.Name == "" {
			return err
		}
		if err != nil {
			n.opts.Logger.LogAttrs(ctx, slog.LevelError, "cannot read a notice", slog.Any("error", err))
			continue
		}
		v := e.Value
		if !n.opts.Owns(v.BulkAction) {
			continue
		}
		if oldest.IsZero() || v.Since.Before(oldest) {
			oldest = v.Since
		}
		if !v.Due.After(until) {
			n.push(job{e.Name, v.Delivery, v.BulkAction, lane{v.Tenant, v.Endpoint, v.Host}, v.Round, v.Due})
		}
	}
	n.oldest.Store(&oldest)
	return nil
}

// Oldest returns how long the oldest delivery of this node has been pending, as of the last scan;
// 0 if none is pending.
func (n *Notifier) Oldest() time.Duration {
	if t := n.oldest.Load(); t != nil && !t.IsZero() {
		return max(time.Since(*t), 0)
	}
	return 0
}
