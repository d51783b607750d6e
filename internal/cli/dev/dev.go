// Package dev runs the demo: a server in memory, and three tenants that compete for two simulated services. Beside them
// a story keeps the pages of the server moving.
package dev

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/draft"
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

// Command returns weir dev.
func Command() command.Command {
	return command.Command{
		Use: "dev", Short: "run a demo server in memory",
		Long: `Starts a server in memory and runs demo.award and then demo.message over 100,000 generated items of three tenants.
Both are simulated services with latency, rate limits, 429 responses, and transient and permanent failures. One tenant
submits 97,000 items. Two others submit 1,500 items each a little later, and finish long before the first. The server
prints its addresses and runs until Ctrl-C, so that you can try the pages and the API: other bulk actions of the same
tenants keep the pages moving, and notes on them explain what is seen. With --once nothing of that runs. Nothing is stored
on disk.`,
		Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			part := fs.Int("part", 1, "run only one item in `N`")
			listen := fs.String("listen", "", "`ADDRESS` of the API (default: 127.0.0.1:8080, or a free port if that is taken)")
			once := fs.Bool("once", false, "exit when the demo has ended")
			return func(ctx context.Context, env *command.Env, _ []string) error {
				if *part < 1 || *part > 1000 {
					return command.BadUsage("", "--part: %d is not between 1 and 1000", *part)
				}
				return runDev(ctx, env, *part, *listen, *once)
			}
		},
	}
}

func runDev(ctx context.Context, env *command.Env, part int, listen string, once bool) error {
	scr := env.Screen()
	d, err := openDev(ctx, listen, options{story: !once, outage: smsOutage})
	if err != nil {
		return err
	}
	defer d.close()
	steps := demo.Actions(demo.Options{})
	l := &link.Link{Printer: &command.Printer{Env: env}, Client: d.client}
	w := &watch.Watcher{Link: l, Screen: scr, Began: time.Now(), Here: &d.Worker}
	all := int64(0)
	for _, t := range devTenants {
		t.items /= part
		t.after /= time.Duration(part)
		all += int64(t.items)
		w.Tracks = append(w.Tracks,
			&watch.Track{Label: t.name, Steps: steps, Open: t.submit(d.node.Service()),
				Now: api.Progress{Counts: api.Counts{Total: int64(t.items)}}})
	}
	scr.Print(addresses(scr.Paint, d.url, once)...)
	scr.Print(fmt.Sprintf("  %s     generated · %s items of three tenants: flood now, acme and beta a moment later",
		scr.Paint.Dim("input"), term.Number(all)),
		watch.ChainLine(scr.Paint, steps))
	why, err := w.Run(ctx)
	if err != nil || why == watch.Aborted {
		return errors.Join(err, command.Ended(command.ExitInterrupted))
	}
	if why != watch.AllEnded {
		return command.Ended(command.ExitInterrupted)
	}
	scr.Print(devSummary(env.Program, scr.Paint, w.Tracks, time.Since(w.Began))...)
	if once {
		return d.end()
	}
	scr.Print("", fmt.Sprintf("    %s    %s", scr.Paint.Dim("open"), scr.Paint.Bold(d.url+pages)),
		fmt.Sprintf("    %s  %s runs until Ctrl-C; try %s list --server %s", scr.Paint.Dim("server"), d.url,
			env.Program, d.url))
	select {
	case <-env.Signals:
	case <-ctx.Done():
	}
	return d.end()
}

// pages is the path of the pages.
const pages = "/ui/"

// addresses shows where the server is. What a newcomer wants is its pages.
func addresses(p term.Paint, url string, once bool) []string {
	api := fmt.Sprintf("  %s    %s   %s", p.Dim("server"), url, p.Dim("API at /v1, described at /docs"))
	if once {
		return []string{api, fmt.Sprintf("  %s     %s", p.Dim("pages"), url+pages)}
	}
	return []string{fmt.Sprintf("  %s      %s   %s", p.Dim("open"), p.Bold(url+pages), p.Dim("everything live, with a short tour")), api}
}

// submit waits for the tenant's turn and brings its items.
func (t devTenant) submit(s *service.Service) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if err := command.Sleep(ctx, t.after); err != nil {
			return "", err
		}
		b, err := s.Bulks.Create(ctx, api.NewBulkAction{
			Name: t.name, Tenant: t.name, Steps: []api.Step{{Action: demo.Award}, {Action: demo.Message}},
			Duplicates: "keep_all", ItemID: "user_id", Start: true,
		}, draft.Made{Items: noErrors(demo.Items(t.items, uint64(len(t.name))))})
		return b.ID, err
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
func devSummary(program string, p term.Paint, tracks []*watch.Track, took time.Duration) []string {
	c := watch.Total(tracks)
	lines := []string{"", fmt.Sprintf("  %s finished in %s: %s done, %s failed permanently", p.Green("✓"), term.Span(took),
		term.Plural(c.Done, "item", "items"), term.Number(c.Failed)), ""}
	for _, t := range tracks {
		line := fmt.Sprintf("    %s   %s items   done in %s", p.Bold(term.Pad(t.Label, 5)),
			term.PadLeft(term.Number(t.Now.Counts.Total), 6),
			term.PadLeft(term.Span(t.Finished.Sub(t.Started)), 6))
		if t != tracks[0] {
			line += p.Dim(fmt.Sprintf("   behind the flood in one queue: about %s", term.Span(tracks[0].Finished.Sub(t.Started))))
		}
		lines = append(lines, line)
	}
	lines = append(lines, "", "    "+p.Dim("next")+"    "+program+
		" run users.csv --action demo.award --action demo.message --report out/")
	return lines
}
