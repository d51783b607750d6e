// Package submit sends the items of a file to a server, as one bulk action.
//
// Items are sent in parts. A part is accepted as a whole, and its key depends only on its place in the file: a
// part that is sent twice is accepted once, and an interrupted submit continues where it stopped.
package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/spec"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

const submitLong = `Reads items from a file (CSV, NDJSON or JSON, also as gzip or zstd; - is stdin), sends them to a server, and seals
the bulk action with the number of items read: the server refuses it if an item is missing. The server does the work;
it continues after this command ends. Add --start or --start-at, or start the bulk action later with weir start.

Items are sent in parts, and each part is accepted as a whole. If the connection breaks, only the current part is sent
again. If the command was stopped, continue with --resume ID and the same file.

Exit codes: 0 accepted, and with --wait all items are done · 2 usage or input · 3 server not reachable · 4 refused by
the server · 5, 6, 7 with --wait, as in weir watch · 130 interrupted`

// Command returns weir submit.
func Command() command.Command {
	return command.Command{
		Use: "submit FILE|-", Short: "submit the items of a file to a server", Long: submitLong,
		Example: `  weir submit users.csv --action award-reward --action send-message --id user_id --start --watch
  weir submit users.csv --chain spring.yaml --canary 1% --stop-failures 5%
  weir submit users.csv --template spring-reward --param amount=500 --start
  zcat users.ndjson.gz | weir submit - --action send-message --map to=item.email --start --wait -o id`,
		Args: command.Args(1, 1, "FILE"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &submitOptions{}
			o.bind(fs)
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error { return o.run(ctx, l, args[0]) })
		},
	}
}

// submitOptions are the flags of weir submit.
type submitOptions struct {
	spec.Options
	actions       []string
	template      string
	params        []string
	rate          config.Rate
	startAt, zone string
	start, watch  bool
	wait          bool
	timeout       config.Span
	resume        string
	skipped       string
}

func (o *submitOptions) bind(fs *pflag.FlagSet) {
	o.Flags = fs
	command.Grouped(fs, "What to do (--action, --chain or --template)", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&o.actions, "action", nil, "`NAME` of an action of the server; repeat the flag for a chain")
		o.BindChain(fs)
		fs.StringVar(&o.template, "template", "", "`NAME` of a template of the server, with its steps and rules")
		fs.StringArrayVar(&o.params, "param", nil, "`NAME=VALUE` of a template parameter, as in amount=500; repeatable")
	})
	command.Grouped(fs, "What to read", func(fs *pflag.FlagSet) {
		o.BindInput(fs)
		fs.StringVar(&o.skipped, "skipped", "", "`FILE` for the rows that are left out, invalid or duplicate, as lines of JSON")
	})
	command.Grouped(fs, "How", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.Name, "name", "", "`NAME` of the bulk action (default: the name of the file)")
		fs.StringVar(&o.Tenant, "tenant", "", "`TENANT` that owns the bulk action (default: the tenant of the API key)")
		fs.Var(&o.rate, "rate", spec.RateHelp)
		o.BindRules(fs)
		fs.Var(&o.Deadline, "deadline",
			"cancel the remaining items at this time: 2h counts from now, or from --start-at; or a time, as in 2030-01-31T18:00:00Z")
	})
	command.Grouped(fs, "When", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.start, "start", false, "start it as soon as it is sealed")
		fs.StringVar(&o.startAt, "start-at", "", "start it at this `TIME`, as in 2030-01-31T18:00:00Z")
		fs.StringVar(&o.zone, "zone", "", "IANA `ZONE` of --start-at, as in Europe/Berlin")
		fs.BoolVar(&o.watch, "watch", false, "show its progress until it ends; Ctrl-C stops only the watching")
		fs.BoolVar(&o.wait, "wait", false, "for scripts: "+watch.WaitForEnd)
		fs.Var(&o.timeout, "timeout", "stop waiting after this time, as in 30m")
		fs.StringVar(&o.resume, "resume", "", "continue the bulk action `ID` that an interrupted submit began")
	})
}

// run does all of it, from the file to the start.
func (o *submitOptions) run(ctx context.Context, l *link.Link, file string) error {
	o.Input = file
	if err := o.complete(l.Env); err != nil {
		return err
	}
	if err := o.askTemplate(ctx, l); err != nil {
		return err
	}
	var in *spec.Input
	rows := &spec.Skipped{Path: l.Env.Path(o.skipped), All: "--skipped FILE"}
	err := spec.OrEnd(ctx, func() (err error) { in, err = spec.OpenInput(l.Env, &o.InputOptions, rows); return err })
	if err != nil {
		return err
	}
	in.Template = o.Spec.Template
	in.Unasked, in.Resend = o.Unasked, true
	b, err := o.begin(ctx, l, in)
	if err != nil {
		return errors.Join(err, in.Reader.Close())
	}
	s := &sender{Link: l, screen: l.Env.Screen(), in: in, id: b.ID, skip: b.Counts.Total + b.Duplicates}
	if err := spec.OrEnd(ctx, func() error { return errors.Join(s.all(ctx), in.Reader.Close(), rows.Close()) }); err != nil {
		return o.stopped(ctx, l, b.ID, err)
	}
	sent := s.sent
	if b, err = l.Seal(ctx, s.id, api.Seal{ExpectedItems: &sent}); err != nil {
		return o.stopped(ctx, l, s.id, err)
	}
	s.screen.Print(append([]string{in.Line(s.screen.Paint)}, rows.Lines(o.skipped)...)...)
	return o.sealed(ctx, l, b)
}

// complete makes the request of flags and file.
func (o *submitOptions) complete(env *command.Env) error {
	n := &o.Spec
	if err := o.ReadChain(env); err != nil {
		return err
	}
	if err := o.chooseTemplate(); err != nil {
		return err
	}
	if len(o.actions) > 0 && len(n.Steps) > 0 {
		return command.BadUsage("keep one of --action and --chain", "the steps are given in two ways")
	}
	for _, a := range o.actions {
		n.Steps = append(n.Steps, api.Step{Action: a})
	}
	switch {
	case len(n.Items) > 0 || n.Source != nil:
		return command.BadUsage("leave items and source out of it, or create all of it with "+env.Program+
			" api POST bulk-actions -d @FILE", "%s says where the items come from, and so does %s", o.ChainFile, o.Input)
	case o.Input == "-" && env.StdinTerminal:
		return command.BadUsage("pipe it in, as in  cat users.csv | "+env.Program+" submit -",
			"stdin is a terminal: no input is piped in")
	case o.resume != "" && o.Input == "-":
		return command.BadUsage("send all of it anew", "--resume reads the file again, and stdin cannot be read again")
	case o.start && o.startAt != "":
		return command.BadUsage("keep one of --start and --start-at", "it cannot start at once and at %s", o.startAt)
	case o.wait && !o.start && o.startAt == "" && !n.Start:
		return command.BadUsage("add --start", "--wait waits for an end that comes only after a start")
	case o.watch && !o.start && o.startAt == "" && !n.Start:
		return command.BadUsage("add --start", "--watch watches what has been started")
	case o.Deadline.FromStart() && !o.start && o.startAt == "" && !n.Start && n.StartAt == "" && o.resume == "":
		return command.BadUsage("add --start or --start-at, or write a time, as in 2030-01-31T18:00:00Z",
			"--deadline: %s counts from the start, and nothing says when that is", o.Deadline.String())
	case len(n.Steps) == 0 && n.Template == "" && o.resume == "":
		return command.BadUsage("add --action NAME, --chain FILE or --template NAME; "+env.Program+" actions list shows the actions",
			"no action is given")
	}
	n.StartAt, n.Zone = cmp.Or(o.startAt, n.StartAt), cmp.Or(o.zone, n.Zone)
	if o.rate > 0 {
		n.Rates = map[string]api.Rate{}
		for _, s := range n.Steps {
			n.Rates[spec.StepName(s)] = api.Rate(o.rate)
		}
	}
	o.start = o.start || n.Start
	n.Start = false // only after all items are there, and the forecast was shown
	return cmp.Or(o.CheckLimit(), o.Fill())
}

// begin creates the draft, or finds the one to resume.
func (o *submitOptions) begin(ctx context.Context, l *link.Link, in *spec.Input) (api.BulkAction, error) {
	if o.resume != "" {
		b, err := l.Get(ctx, o.resume)
		if err == nil && b.State != api.Draft {
			err = command.BadUsage(l.Env.Program+" get "+o.resume+" shows it", "%s is %s: the server has all of its items",
				o.resume, b.State)
		}
		return b, err
	}
	o.Spec.ItemID = in.Reader.Detected().IDColumn
	return l.Create(ctx, o.Spec)
}

// again returns the flags that a resumed submit needs as well: the draft on the server does not hold how the file is
// read, nor when it starts.
func (o *submitOptions) again() (flags string) {
	kept := []string{"id", "format", "delimiter", "encoding", "limit", "duplicates", "invalid", "skipped", "start", "start-at", "zone"}
	o.Flags.Visit(func(f *pflag.Flag) {
		switch {
		case !slices.Contains(kept, f.Name):
		case f.Value.Type() == "bool":
			flags += " --" + f.Name
		default:
			flags += " --" + f.Name + " " + term.Quote(f.Value.String())
		}
	})
	return flags
}

// stopped reports what was accepted before an interruption, and how to continue.
func (o *submitOptions) stopped(ctx context.Context, l *link.Link, id string, err error) error {
	f, said := errors.AsType[*command.Failure](err)
	if !said {
		f = command.Explain(err)
	}
	out := *f
	if ctx.Err() != nil {
		out.Code, out.What = command.ExitInterrupted, "interrupted while the items were being sent"
	}
	if out.Code == command.ExitUsage && o.resume == "" { // the file is invalid: no item of it runs
		if l.Delete(context.WithoutCancel(ctx), id) == nil {
			out.What += fmt.Sprintf("\nthe draft %s was deleted", id)
			return &out
		}
	}
	if client.IsCode(err, "not_found") {
		return &out
	}
	out.What += fmt.Sprintf("\n%s is a draft: it is not sealed and does not run", id)
	ways := fmt.Sprintf("cancel it with %s cancel %s --yes%s", l.Env.Program, id, l.Flag)
	if o.Input != "-" && out.Code != command.ExitUsage {
		ways = fmt.Sprintf("continue with %s submit %s --resume %s%s%s, or %s", l.Env.Program, term.Quote(o.Input), id, o.again(),
			l.Flag, ways)
	}
	out.Fix = strings.TrimPrefix(strings.Join([]string{f.Fix, ways}, "\n"), "\n")
	if ctx.Err() != nil {
		out.Fix = ways
	}
	return &out
}

// sealed tells the forecast, and starts what is to be started.
func (o *submitOptions) sealed(ctx context.Context, l *link.Link, b api.BulkAction) error {
	scr := l.Env.Screen()
	if f, err := l.Forecast(ctx, b.ID, api.ForecastRequest{}); err == nil {
		scr.Print(watch.ForecastLine(scr.Paint, &f))
	} else if ctx.Err() == nil {
		l.Say("no forecast: %v", err)
	}
	for _, w := range b.Warnings {
		scr.Print("  " + scr.Paint.Yellow("warning") + "   " + term.Tame(w))
	}
	if b.Note != "" {
		scr.Print("  " + scr.Paint.Dim("note") + "      " + term.Tame(b.Note))
	}
	var err error
	if o.start && o.Spec.StartAt == "" {
		b, err = l.Start(ctx, b.ID, api.Start{})
	}
	if err != nil {
		return err
	}
	if !o.start && o.Spec.StartAt == "" {
		scr.Print(fmt.Sprintf("  %s      %s start %s%s", scr.Paint.Dim("next"), l.Env.Program, b.ID, l.Flag))
	}
	if !o.wait && !o.watch {
		return command.One(l.Printer, watch.BulkView, b)
	}
	if l.Out == command.ID {
		fmt.Fprintln(l.Env.Stdout, b.ID)
	}
	ctx, cancel := command.Within(ctx, time.Duration(o.timeout))
	defer cancel()
	return command.TooLong(ctx, watch.ToEnd(ctx, l, b.ID))
}
