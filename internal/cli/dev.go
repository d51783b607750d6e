package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/internal/demo"
	"github.com/weirhq/weir/store/memstore"
)

// devTenant is one of the tenants of the demo.
type devTenant struct {
	name  string
	items int
	after time.Duration // when it comes
}

// devTenants: one floods, and two small ones come when it is well under way.
var devTenants = []devTenant{
	{"flood", 97_000, 0},
	{"acme", 1_500, 2 * time.Second},
	{"beta", 1_500, 3 * time.Second},
}

func devCommand() command {
	return command{
		use: "dev", short: "see it work: three tenants, one of which floods, in memory",
		long: `Runs demo.award and then demo.message over 100,000 made-up items of three tenants. Both are made-up
services with latency, rate limits, 429 answers, and failures that pass or stay. One tenant brings 97,000 items;
two others come later with 1,500 each, and are done long before it. Nothing is kept.`,
		args: between(0, 0, ""),
		bind: func(fs *pflag.FlagSet) runner {
			part := fs.Int("part", 1, "run only one item in `N`")
			return func(ctx context.Context, env *Env, _ []string) error {
				if *part < 1 || *part > 1000 {
					return badUsage("", "--part: %d is not between 1 and 1000", *part)
				}
				return runDev(ctx, env, *part)
			}
		},
	}
}

func runDev(ctx context.Context, env *Env, part int) error {
	scr := newScreen(env)
	e, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	steps := demo.Actions(demo.Options{})
	chain := weir.Raw("demo", steps...)
	if err := engine.HandleChain(e, chain); err != nil {
		return err
	}
	d := worker{engine: e}
	d.start(ctx)
	w := &watcher{screen: scr, started: time.Now(), session: stopper{stop: d.stop, signals: env.Signals}}
	all := int64(0)
	for _, t := range devTenants {
		t.items /= part
		t.after /= time.Duration(part)
		all += int64(t.items)
		w.tracks = append(w.tracks, &track{label: t.name, steps: steps, open: t.submit(e, chain), now: weir.Progress{Counts: weir.Counts{Total: int64(t.items)}}})
	}
	scr.print(fmt.Sprintf("  %s     made up · %s items of three tenants: flood now, acme and beta a moment later", scr.paint.dim("input"), number(all)),
		chainLine(scr.paint, steps), predict(steps, all, 64).line(scr.paint))
	why, err := w.watch(ctx)
	if err != nil || why == aborted {
		return errors.Join(err, ended(exitInterrupted))
	}
	lines := devSummary(env.Program, scr.paint, w.tracks, time.Since(w.started))
	if err := d.end(); err != nil {
		return err
	}
	if why != allEnded {
		return ended(exitInterrupted)
	}
	scr.print(lines...)
	return nil
}

// submit waits for the tenant's turn and brings its items.
func (t devTenant) submit(e *engine.Engine, c weir.Chain[json.RawMessage, json.RawMessage]) func(context.Context) (*engine.BulkAction, error) {
	return func(ctx context.Context) (*engine.BulkAction, error) {
		if err := sleep(ctx, t.after); err != nil {
			return nil, err
		}
		spec := weir.Spec[json.RawMessage, json.RawMessage]{Name: t.name, Tenant: t.name, Chain: c, Duplicates: weir.KeepAll}
		return engine.Submit(ctx, e, spec, noErrors(demo.Items(t.items, uint64(len(t.name)))))
	}
}

// noErrors is a sequence that cannot fail, for those who want one that can.
func noErrors[T any](items iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// devSummary shows how soon the small tenants were done beside the flood.
func devSummary(program string, p paint, tracks []*track, took time.Duration) []string {
	c := total(tracks)
	lines := []string{"", fmt.Sprintf("  %s finished in %s: %s done, %s failed for good", p.green("✓"), span(took), plural(c.Done, "item", "items"), number(c.Failed)), ""}
	for _, t := range tracks {
		line := fmt.Sprintf("    %s   %s items   done in %s", p.bold(pad(t.label, 5)), padLeft(number(t.now.Counts.Total), 6), padLeft(span(t.took()), 6))
		if t != tracks[0] {
			line += p.dim(fmt.Sprintf("   behind the flood in one queue: about %s", span(tracks[0].now.Finished.Sub(t.now.Started))))
		}
		lines = append(lines, line)
	}
	lines = append(lines, "", "    "+p.dim("next")+"    "+program+" run users.csv --action demo.award --action demo.message --report out/")
	return lines
}

// took is how long a bulk action ran, from its submit.
func (t *track) took() time.Duration { return t.now.Finished.Sub(t.now.Started) }
