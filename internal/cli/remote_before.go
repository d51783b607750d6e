package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

func previewCommand() command {
	return command{
		use: "preview ID", short: "show the first items of a bulk action and the input of its first step",
		long: `Shows the first items as they were read, and the input that expressions make of them for the first step. If the items
come from a source, its first page is read and not stored. No action is called.

Exit codes: 0 all items are valid · 5 some are not; the output says why`,
		example: `  weir preview ba_01k9x…
  weir preview ba_01k9x… --limit 3 -o json`,
		args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			limit := fs.Int("limit", 20, "show at most `N` items, up to 100")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				if *limit < 1 || *limit > 100 {
					return badUsage("write a number from 1 to 100", "--limit: %d items cannot be shown", *limit)
				}
				p, err := l.Preview(ctx, args[0], *limit)
				if err != nil {
					return err
				}
				return l.showPreview(&p)
			})
		},
	}
}

// previewView shows items. To people, faults are said below the table, where there is room for them.
func (l *link) previewView() view[api.PreviewItem] {
	type i = api.PreviewItem
	v := view[i]{
		plural: "items",
		id:     func(x *i) string { return x.ID },
		columns: []column[i]{
			{"id", func(x *i) any { return x.ID }},
			{"data", func(x *i) any { return x.Data }},
			{"input", func(x *i) any { return x.Input }},
		},
	}
	if l.out == outCSV {
		v.columns = append(v.columns, column[i]{"faults", func(x *i) any { return faultsText(x.Faults) }})
	}
	return v
}

func faultsText(all []api.Fault) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = faultText(all[i])
	}
	return strings.Join(texts, "; ")
}

// showPreview shows items, and says what is wrong with them: that is the exit code, too.
func (l *link) showPreview(p *api.Preview) error {
	var err error
	if l.out == outJSON {
		err = printJSON(l.env, p)
	} else {
		err = list(l, l.previewView(), seq(p.Items), 0)
	}
	if err != nil {
		return err
	}
	bad := len(p.Faults) > 0
	for _, f := range p.Faults {
		l.say("%s", faultText(f))
	}
	for _, x := range p.Items {
		if len(x.Faults) > 0 {
			bad = true
			l.say("%s: %s", cell(x.ID), faultsText(x.Faults))
		}
	}
	if bad {
		return ended(exitSomeFailed)
	}
	return nil
}

func trialCommand() command {
	return command{
		use: "trial ID", short: "send a few items through the steps of a bulk action and show requests and responses",
		long: `Sends items through the chain before the bulk action starts: one call per step, with the output of the step before.
The calls are marked as a dry run. Built-in actions have no dry run; they are called only with --for-real. Results are
not counted, and the bulk action does not change.

Exit codes: 0 all steps succeeded · 1 a call failed · 5 some items were not done`,
		example: `  weir trial ba_01k9x…
  weir trial ba_01k9x… --item u1 --item u42
  weir trial ba_01k9x… --first 5 --step notify --for-real`,
		args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			var t api.Trial
			fs.StringArrayVar(&t.Items, "item", nil, "send the item with this `ID`; repeatable (default: the first item)")
			fs.IntVar(&t.First, "first", 0, "send the first `N` items, up to 20")
			fs.StringVar(&t.Step, "step", "", "only this `STEP` (default: the whole chain)")
			real := fs.Bool("for-real", false, "do not mark the calls as a dry run")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				if len(t.Items) > 0 && t.First > 0 {
					return badUsage("keep one of --item and --first", "the items are chosen in two ways")
				}
				if *real {
					dry := false
					t.DryRun = &dry
				}
				out, err := l.Trial(ctx, args[0], t)
				if err != nil {
					return err
				}
				return l.showTrial(out.Steps, out)
			})
		},
	}
}

// showTrial tells how calls went; whole is the same in the API's shape. A call that
// failed is the command's failure, too.
func (l *link) showTrial(steps []api.TrialStep, whole any) (err error) {
	switch l.out {
	case outJSON:
		err = printJSON(l.env, whole)
	case outNDJSON:
		err = list(l, view[api.TrialStep]{}, seq(steps), 0)
	case outCSV, outID:
		var all []api.ItemResult
		for i := range steps {
			all = append(all, steps[i].Items...)
		}
		err = list(l, itemView(), seq(all), 0)
	case outTable:
		for i := range steps {
			l.printTrial(&steps[i], len(steps) > 1)
		}
	}
	if err != nil {
		return err
	}
	return trialVerdict(steps)
}

// printTrial shows a call to people, under the name of its step if there are several.
func (l *link) printTrial(s *api.TrialStep, named bool) {
	p, _ := outward(l.env)
	w := l.env.Stdout
	if named {
		fmt.Fprintf(w, "%s\n", p.bold(cell(s.Step)))
	}
	if s.Request != "" {
		fmt.Fprintf(w, "%s\n%s\n", p.dim("request"), tameText(strings.TrimSpace(s.Request), "  "))
	}
	if s.Status != 0 {
		fmt.Fprintf(w, "%s %d in %s\n%s\n", p.dim("answer"), s.Status, span(time.Duration(s.Took)), tameText(strings.TrimSpace(s.Response), "  "))
	}
	if s.Error != "" {
		return
	}
	for _, i := range s.Items {
		line := fmt.Sprintf("%s  %s  %s", pad(i.ID, 12), itemState(p, &i), strings.TrimSpace(i.Code+" "+i.Message))
		fmt.Fprintln(w, p.tame(strings.TrimRight(line, " ")))
	}
}

// trialVerdict returns the exit code of a trial.
func trialVerdict(steps []api.TrialStep) error {
	code := exitOK
	for i := range steps {
		if steps[i].Error != "" {
			fix := "look at what the endpoint answered"
			if steps[i].Status == 0 {
				fix = "check the URL of the action " + cell(steps[i].Action) + ", and that its endpoint is up"
			}
			return &failure{exitOther, fmt.Sprintf("the call of step %s failed: %s", cell(steps[i].Step), steps[i].Error), fix}
		}
		for _, x := range steps[i].Items {
			if x.State != "done" {
				code = exitSomeFailed
			}
		}
	}
	return ended(code)
}

func cloneCommand() command {
	return command{
		use: "clone ID", short: "copy a bulk action to a new draft, without its items",
		long: `Creates a draft with the same steps and rules. The draft has no items, unless they come from a source, and does not
start by itself. Times in the past, such as an old deadline, are left out.`,
		example: `  weir clone ba_01k9x…
  weir submit users.csv --resume $(weir clone ba_01k9x… -o id) --start`,
		args: between(1, 1, "ID"),
		bind: func(fs *pflag.FlagSet) runner {
			reason := fs.String("reason", "", "`TEXT` for the audit log")
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				b, err := l.Clone(ctx, args[0], *reason)
				if err != nil {
					return err
				}
				if b.State == api.Draft && b.Source == nil {
					scr := newScreen(l.env)
					scr.print(fmt.Sprintf("  %s      %s submit FILE --resume %s%s", scr.paint.dim("next"), l.env.Program, b.ID, l.flag))
				}
				return one(l, bulkView(), b)
			})
		},
	}
}
