package assembly

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/service/reseal"
)

// resealEvery is how often a node looks for secrets that are not sealed with the newest key, while it has older ones: nodes
// that do not have the newest one yet seal with others.
const resealEvery = 10 * time.Minute

// reseal seals secrets again with the newest key of the vault, and says what older keys are still needed for.
func (n *Node) reseal(ctx context.Context) {
	if len(n.opts.Vault.KeyIDs()) == 1 {
		return // there is no older key
	}
	tick := time.NewTicker(resealEvery)
	defer tick.Stop()
	for {
		n.resealOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (n *Node) resealOnce(ctx context.Context) {
	keys := n.opts.Vault.KeyIDs()
	sealed, err := reseal.Records(ctx, n.opts.Store, n.opts.Vault)
	if sealed > 0 {
		n.log.LogAttrs(ctx, slog.LevelInfo, "secrets sealed again with the newest key", slog.String("key", keys[0]), slog.Int("secrets", sealed))
	}
	left, failed := reseal.Count(ctx, n.opts.Store)
	if ctx.Err() != nil {
		return
	}
	for _, err := range []error{err, failed} {
		if err != nil {
			n.log.LogAttrs(ctx, slog.LevelWarn, "secrets not sealed again, will be tried again", slog.Any("error", err))
		}
	}
	for _, id := range keys[1:] {
		if l, used := left[id]; used {
			n.log.LogAttrs(ctx, slog.LevelInfo, "an older key of the vault is still needed", slog.String("key", id),
				slog.Int("records", l.Records), slog.Int("bulk_actions", l.BulkActions), slog.Any("names", l.Names))
		} else if failed == nil {
			n.log.LogAttrs(ctx, slog.LevelInfo, "an older key of the vault is not needed any more", slog.String("key", id))
		}
	}
}
