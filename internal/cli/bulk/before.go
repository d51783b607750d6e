package bulk

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/watch"
)

func previewCommand() command.Command {
	return command.Command{
		Use: "preview ID", Short: "show the first items of a bulk action and the input of its first step",
		Long: `Shows the first items as they were read, and the input that expressions make of them for the first step. If the items
come from a source, its first page is read and not stored. No action is called.

Exit codes: 0 all items are valid · 5 some are not; the output says why`,
		Example: `  weir preview ba_01k9x…
  weir preview ba_01k9x… --limit 3 -o json`,
		Args: command.Args(1, 1, "ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			limit := fs.Int("limit", 20, "show at most `N` items, up to 100")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if *limit < 1 || *limit > 100 {
					return command.BadUsage("write a number from 1 to 100", "--limit: %d items cannot be shown", *limit)
				}
				p, err := l.Preview(ctx, args[0], *limit)
				if err != nil {
					return err
				}
				return showPreview(l, &p)
			})
		},
	}
}

// previewView shows items. To people, faults are said below the table, where there is room for them.
func previewView(l *link.Link) command.View[api.PreviewItem] {
	columns := "id, data, input"
	if l.Out == command.CSV {
		columns += ", faults"
	}
	return command.NewView("items", "id", columns, "", command.Texts[api.PreviewItem]{
		"faults": func(x *api.PreviewItem) any { return faultsText(x.Faults) },
	})
}

func faultsText(all []api.Fault) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = command.FaultText(all[i])
	}
	return strings.Join(texts, "; ")
}

// showPreview shows items, and says what is wrong with them: that is the exit code, too.
func showPreview(l *link.Link, p *api.Preview) error {
	var err error
	if l.Out == command.JSON {
		err = command.PrintJSON(l.Env, p)
	} else {
		err = command.List(l.Printer, previewView(l), command.Seq(p.Items), 0)
	}
	if err != nil {
		return err
	}
	bad := len(p.Faults) > 0
	for _, f := range p.Faults {
		l.Say("%s", command.FaultText(f))
	}
	for _, x := range p.Items {
		if len(x.Faults) > 0 {
			bad = true
			l.Say("%s: %s", command.Cell(x.ID), faultsText(x.Faults))
		}
	}
	if bad {
		return command.Ended(command.ExitSomeFailed)
	}
	return nil
}

func checkCommand() command.Command {
	return command.Command{
		Use: "check ID", Short: "check the rows of a draft that reads an upload or a source",
		Long: `Reads the rows of a draft and says how many can be used, and what is wrong with the others. Nothing is added or sent. An
upload is read up to 5 million rows, another source up to 10,000.

Exit codes: 0 all rows can be used · 5 some cannot`,
		Example: `  weir check ba_01k9x…
  weir check ba_01k9x… --limit 1000 -o csv`,
		Args: command.Args(1, 1, "ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			limit := fs.Int("limit", 20, "list at most `N` bad rows, up to 1000")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if *limit < 1 || *limit > 1000 {
					return command.BadUsage("write a number from 1 to 1000", "--limit: %d rows cannot be listed", *limit)
				}
				c, err := l.Check(ctx, args[0], *limit)
				if err != nil {
					return err
				}
				return showCheck(l, &c)
			})
		},
	}
}

func badRowsCommand() command.Command {
	return command.Command{
		Use: "bad-rows ID", Short: "write the bad rows of an upload as CSV",
		Long: `Writes all rows of the uploaded file that cannot be used to stdout, as CSV: the line, what is wrong, what to do, and the
cells as they are in the file, with the separator and the encoding of the file. Correct it and add it to the uploads of
the draft, or submit it again: the first three columns are not part of the items then.
After the start it works as long as the bulk action is kept.`,
		Example: `  weir bad-rows ba_01k9x… > bad.csv`,
		Args:    command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				body, err := l.BadRows(ctx, args[0])
				if err != nil {
					return err
				}
				defer body.Close()
				_, err = io.Copy(l.Env.Stdout, body)
				return err
			})
		},
	}
}

func duplicatesCommand() command.Command {
	return command.Command{
		Use: "duplicates ID", Short: "write the rows of an upload that repeat an id as CSV",
		Long: `Writes the rows of the uploaded file whose id an earlier row has to stdout, as CSV: the line, the id, and the line of
the first row with it. Up to 5 million rows are read. After the start it works as long as the bulk action is kept.`,
		Example: `  weir duplicates ba_01k9x… > duplicates.csv`,
		Args:    command.BulkID,
		Bind: func(fs *pflag.FlagSet) command.Runner {
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				body, err := l.Repeated(ctx, args[0])
				if err != nil {
					return err
				}
				defer body.Close()
				_, err = io.Copy(l.Env.Stdout, body)
				return err
			})
		},
	}
}

// showCheck lists bad rows, and says how many rows there are of each sort.
func showCheck(l *link.Link, c *api.DataCheck) error {
	var err error
	if l.Out == command.JSON {
		err = command.PrintJSON(l.Env, c)
	} else {
		view := command.NewView[api.Fault]("bad rows", "line", "line, field, value, message, fix", "", nil)
		err = command.List(l.Printer, view, command.Seq(c.Faults), 0)
	}
	if err != nil {
		return err
	}
	l.Say("%d rows: %d can be used, %d have a duplicate id, %d are bad", c.Rows, c.Items, c.Duplicates, c.BadLines)
	if c.Duplicates > 0 {
		l.Say("list the duplicates with  %s duplicates ID", l.Env.Program)
	}
	if c.Alike > 0 {
		l.Say("%d ids differ from others only in capitals or spaces, such as %q in line %d and the one in line %d: they are different items", c.Alike,
			c.AlikeRows[0].ID, c.AlikeRows[0].Line, c.AlikeRows[0].FirstLine)
	}
	if !c.Complete {
		l.Say("not all rows were read")
	}
	if c.BadLines > 0 || c.Rows == 0 && len(c.Faults) > 0 {
		return command.Ended(command.ExitSomeFailed)
	}
	return nil
}

func trialCommand() command.Command {
	return command.Command{
		Use: "trial ID", Short: "send a few items through the steps of a bulk action and show requests and responses",
		Long: `Sends items through the chain before the bulk action starts: one call per step, with the output of the step before.
The calls are marked as a dry run. Built-in actions have no dry run; they are called only with --for-real. Results are
not counted, and the bulk action does not change.

Exit codes: 0 all steps succeeded · 1 a call failed · 5 some items were not done`,
		Example: `  weir trial ba_01k9x…
  weir trial ba_01k9x… --item u1 --item u42
  weir trial ba_01k9x… --first 5 --step notify --for-real`,
		Args: command.Args(1, 1, "ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			var t api.Trial
			fs.StringArrayVar(&t.Items, "item", nil, "send the item with this `ID`; repeatable (default: the first item)")
			fs.IntVar(&t.First, "first", 0, "send the first `N` items, up to 20")
			fs.StringVar(&t.Step, "step", "", "only this `STEP` (default: the whole chain)")
			real := fs.Bool("for-real", false, "do not mark the calls as a dry run")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if len(t.Items) > 0 && t.First > 0 {
					return command.BadUsage("keep one of --item and --first", "the items are chosen in two ways")
				}
				if *real {
					dry := false
					t.DryRun = &dry
				}
				out, err := l.Trial(ctx, args[0], t)
				if err != nil {
					return err
				}
				return watch.ShowTrial(l, out.Steps, out)
			})
		},
	}
}

func cloneCommand() command.Command {
	return command.Command{
		Use: "clone ID", Short: "copy a bulk action to a new draft, without its items",
		Long: `Creates a draft with the same steps, and the rules that the bulk action was created with: changes made while it ran are
left out. The draft has no items, unless they come from a source, and does not start by itself. Times in the past, such as
an old deadline, are left out, too.`,
		Example: `  weir clone ba_01k9x…
  weir submit users.csv --resume $(weir clone ba_01k9x… -o id) --start`,
		Args: command.Args(1, 1, "ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			reason := fs.String("reason", "", "`TEXT` for the audit log")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				b, err := l.Clone(ctx, args[0], *reason)
				if err != nil {
					return err
				}
				if b.State == api.Draft && b.Source == nil {
					scr := l.Env.Screen()
					scr.Print(fmt.Sprintf("  %s      %s submit FILE --resume %s%s", scr.Paint.Dim("next"), l.Env.Program, b.ID, l.Flag))
				}
				return command.One(l.Printer, watch.BulkView, b)
			})
		},
	}
}
