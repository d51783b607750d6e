package draft

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns the drafts of an engine that runs until the test ends, with an action award. Their
// keeper does not run.
func open(t *testing.T) *Drafts {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	log, st, guard := slog.New(slog.DiscardHandler), memstore.New(memstore.Options{}), egress.New(egress.Policy{})
	award := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: "award",
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		},
	})
	from := registry.Options{Store: st, Guard: guard, Vault: v, Steps: []weir.Step{award}}
	actions, err := registry.NewActions(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	chains := chain.New(actions)
	e, err := engine.Open(t.Context(), st, engine.Options{Logger: log, Partitions: 1, Describe: chains.Describe, Drafts: Has(st)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() }) // after the engine has ended
	runs(t, func(ctx context.Context) {
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return New(t.Context(), Options{
		Store: st, Engine: e, Connections: registry.NewConnections(t.Context(), from), Templates: registry.NewTemplates(st, v, actions), Chains: chains,
		Guard: guard, Vault: v, Failed: func(context.Context, string, *Draft) error { return nil }, Logger: log,
	})
}

// runs runs something until the test ends.
func runs(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

func isCode(err error, code string) bool {
	var r *check.Refusal
	return errors.As(err, &r) && r.Code == code
}
