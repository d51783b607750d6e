package cli

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
	"github.com/weirhq/weir/internal/cli/config"
)

const submitLong = `Reads items from a file (CSV, NDJSON or JSON, also as gzip or zstd; - is stdin), sends them to a server, and seals
the bulk action with the number of items read: the server refuses it if an item is missing. The server does the work;
it continues after this command ends. Add --start or --start-at, or start the bulk action later with weir start.

Items are sent in parts, and each part is accepted as a whole. If the connection breaks, only the current part is sent
again. If the command was stopped, continue with --resume ID and the same file.

Exit codes: 0 accepted, and with --wait all items are done · 2 usage or input · 3 server not reachable · 4 refused by
the server · 5, 6, 7 with --wait, as in weir watch · 130 interrupted`

func submitCommand() command {
	return command{
		use: "submit FILE|-", short: "submit the items of a file to a server", long: submitLong,
		example: `  weir submit users.csv --action award-reward --action send-message --id user_id --start --watch
  weir submit users.csv --chain spring.yaml --canary 1% --stop-failures 5%
  weir submit users.csv --template spring-reward --param amount=500 --start
  zcat users.ndjson.gz | weir submit - --action send-message --map to=item.email --start --wait -o id`,
		args: between(1, 1, "FILE"),
		bind: func(fs *pflag.FlagSet) runner {
			o := &submitOptions{}
			o.bind(fs)
			return online(fs, func(ctx context.Context, l *link, args []string) error { return o.run(ctx, l, args[0]) })
		},
	}
}

// submitOptions are the flags of weir submit.
type submitOptions struct {
	bulkOptions
	actions       []string
	template      string
	params        []string
	rate          config.Rate
	startAt, zone string
	start, watch  bool
	wait          bool
	timeout       config.Span
	resume        string
}

func (o *submitOptions) bind(fs *pflag.FlagSet) {
	o.flags = fs
	grouped(fs, "What to do (--action, --chain or --template)", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&o.actions, "action", nil, "`NAME` of an action of the server; repeat the flag for a chain")
		o.bindChain(fs)
		fs.StringVar(&o.template, "template", "", "`NAME` of a template of the server, with its steps and rules")
		fs.StringArrayVar(&o.params, "param", nil, "`NAME=VALUE` of a template parameter, as in amount=500; repeatable")
	})
	grouped(fs, "What to read", o.bindInput)
	grouped(fs, "How", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.name, "name", "", "`NAME` of the bulk action (default: the name of the file)")
		fs.StringVar(&o.tenant, "tenant", "", "`TENANT` that owns the bulk action (default: the tenant of the API key)")
		fs.Var(&o.rate, "rate", rateHelp)
		o.bindRules(fs)
		fs.Var(&o.deadline, "deadline",
			"cancel the remaining items at this time: 2h counts from now, or from --start-at; or a time, as in 2030-01-31T18:00:00Z")
	})
	grouped(fs, "When", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.start, "start", false, "start it as soon as it is sealed")
		fs.StringVar(&o.startAt, "start-at", "", "start it at this `TIME`, as in 2030-01-31T18:00:00Z")
		fs.StringVar(&o.zone, "zone", "", "IANA `ZONE` of --start-at, as in Europe/Berlin")
		fs.BoolVar(&o.watch, "watch", false, "show its progress until it ends; Ctrl-C stops only the watching")
		fs.BoolVar(&o.wait, "wait", false, "for scripts: "+waitForEnd)
		fs.Var(&o.timeout, "timeout", "stop waiting after this time, as in 30m")
		fs.StringVar(&o.resume, "resume", "", "continue the bulk action `ID` that an interrupted submit began")
	})
}

// run does all of it, from the file to the start.
func (o *submitOptions) run(ctx context.Context, l *link, file string) error {
	o.Input = file
	if err := o.complete(l.env); err != nil {
		return err
	}
	if err := o.askTemplate(ctx, l); err != nil {
		return err
	}
	var in *input
	err := orEnd(ctx, func() (err error) { in, err = openInput(l.env, &o.inputOptions, discard{}); return err })
	if err != nil {
		return err
	}
	in.unasked, in.resend = o.unasked, true
	b, err := o.begin(ctx, l, in)
	if err != nil {
		return errors.Join(err, in.reader.Close())
	}
	s := &sender{link: l, screen: newScreen(l.env), in: in, id: b.ID, skip: b.Counts.Total + b.Duplicates}
	if err := orEnd(ctx, func() error { return errors.Join(s.all(ctx), in.reader.Close()) }); err != nil {
		return o.stopped(ctx, l, b.ID, err)
	}
	sent := s.sent
	if b, err = l.Seal(ctx, s.id, api.Seal{ExpectedItems: &sent}); err != nil {
		return o.stopped(ctx, l, s.id, err)
	}
	s.screen.print(in.line(s.screen.paint))
	return o.sealed(ctx, l, b)
}

// orEnd does something that may hang in a read which nothing can end, and stops waiting for it soon after ctx ends.
func orEnd(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	return whatNow(done, ctx.Err(), patience/3)
}

// complete makes the request of flags and file.
func (o *submitOptions) complete(env *Env) error {
	n := &o.spec
	if err := o.readChain(env); err != nil {
		return err
	}
	if err := o.chooseTemplate(); err != nil {
		return err
	}
	if len(o.actions) > 0 && len(n.Steps) > 0 {
		return badUsage("keep one of --action and --chain", "the steps are given in two ways")
	}
	for _, a := range o.actions {
		n.Steps = append(n.Steps, api.Step{Action: a})
	}
	switch {
	case o.Input == "-" && env.StdinTerminal:
		return badUsage("pipe it in, as in  cat users.csv | "+env.Program+" submit -", "stdin is a terminal: no input is piped in")
	case o.resume != "" && o.Input == "-":
		return badUsage("send all of it anew", "--resume reads the file again, and stdin cannot be read again")
	case o.start && o.startAt != "":
		return badUsage("keep one of --start and --start-at", "it cannot start at once and at %s", o.startAt)
	case o.wait && !o.start && o.startAt == "" && !n.Start:
		return badUsage("add --start", "--wait waits for an end that comes only after a start")
	case o.watch && !o.start && o.startAt == "" && !n.Start:
		return badUsage("add --start", "--watch watches what has been started")
	case o.deadline.FromStart() && !o.start && o.startAt == "" && !n.Start && n.StartAt == "" && o.resume == "":
		return badUsage("add --start or --start-at, or write a time, as in 2030-01-31T18:00:00Z",
			"--deadline: %s counts from the start, and nothing says when that is", o.deadline.String())
	case len(n.Steps) == 0 && n.Template == "" && o.resume == "":
		return badUsage("add --action NAME, --chain FILE or --template NAME; "+env.Program+" actions list shows the actions",
			"no action is given")
	}
	set(&n.StartAt, o.startAt)
	set(&n.Zone, o.zone)
	if o.rate > 0 {
		n.Rates = map[string]api.Rate{}
		for _, s := range n.Steps {
			n.Rates[stepName(s)] = api.Rate(o.rate)
		}
	}
	o.start = o.start || n.Start
	n.Start = false // only after all items are there, and the forecast was shown
	return cmp.Or(o.checkLimit(), o.fill())
}

// begin creates the draft, or finds the one to resume.
func (o *submitOptions) begin(ctx context.Context, l *link, in *input) (api.BulkAction, error) {
	if o.resume != "" {
		b, err := l.Get(ctx, o.resume)
		if err == nil && b.State != api.Draft {
			err = badUsage(l.env.Program+" get "+o.resume+" shows it", "%s is %s: the server has all of its items", o.resume, b.State)
		}
		return b, err
	}
	o.spec.ItemID = in.reader.Detected().IDColumn
	return l.Create(ctx, o.spec)
}

// stopped reports what was accepted before an interruption, and how to continue.
func (o *submitOptions) stopped(ctx context.Context, l *link, id string, err error) error {
	f, said := errors.AsType[*failure](err)
	if !said {
		f = explain(err)
	}
	out := *f
	if ctx.Err() != nil {
		out.code, out.what = exitInterrupted, "interrupted while the items were being sent"
	}
	if out.code == exitUsage && o.resume == "" { // the file is invalid: no item of it runs
		if l.Delete(context.WithoutCancel(ctx), id) == nil {
			out.what += fmt.Sprintf("\nthe draft %s was deleted", id)
			return &out
		}
	}
	if client.IsCode(err, "not_found") {
		return &out
	}
	out.what += fmt.Sprintf("\n%s is a draft: it is not sealed and does not run", id)
	ways := fmt.Sprintf("cancel it with %s cancel %s --yes%s", l.env.Program, id, l.flag)
	if o.Input != "-" && out.code != exitUsage {
		ways = fmt.Sprintf("continue with %s submit %s --resume %s%s, or %s", l.env.Program, quote(o.Input), id, l.flag, ways)
	}
	out.fix = strings.TrimPrefix(strings.Join([]string{f.fix, ways}, "\n"), "\n")
	if ctx.Err() != nil {
		out.fix = ways
	}
	return &out
}

// sealed tells the forecast, and starts what is to be started.
func (o *submitOptions) sealed(ctx context.Context, l *link, b api.BulkAction) error {
	scr := newScreen(l.env)
	if f, err := l.Forecast(ctx, b.ID, api.ForecastRequest{}); err == nil {
		scr.print(forecastLine(scr.paint, &f))
	} else if ctx.Err() == nil {
		l.say("no forecast: %v", err)
	}
	if b.Note != "" {
		scr.print("  " + scr.paint.dim("note") + "      " + tame(b.Note))
	}
	var err error
	if o.start && o.spec.StartAt == "" {
		b, err = l.Start(ctx, b.ID, api.Start{})
	}
	if err != nil {
		return err
	}
	if !o.start && o.spec.StartAt == "" {
		scr.print(fmt.Sprintf("  %s      %s start %s%s", scr.paint.dim("next"), l.env.Program, b.ID, l.flag))
	}
	if !o.wait && !o.watch {
		return one(l, bulkView(), b)
	}
	if l.out == outID {
		fmt.Fprintln(l.env.Stdout, b.ID)
	}
	ctx, cancel := within(ctx, time.Duration(o.timeout))
	defer cancel()
	return tooLong(ctx, watchToEnd(ctx, l, b.ID))
}

// forecastLine returns the forecast as a line, in the format of weir run.
func forecastLine(p paint, f *api.Forecast) string {
	head := "  " + p.dim("forecast") + "  "
	if f.NoEnd {
		return head + p.yellow("no end: calls are failing now, so no item would be done")
	}
	text := head + "under 1s"
	if time.Duration(f.Takes.P90) >= time.Second {
		text = head + fmt.Sprintf("%s (p90 %s)", span(time.Duration(f.Takes.P50)), span(time.Duration(f.Takes.P90)))
	}
	calls := int64(0)
	for _, s := range f.Steps {
		calls += s.Calls
	}
	if calls > 0 {
		text += " · " + "about " + plural(calls, "call", "calls")
	}
	if f.Bottleneck != nil && time.Duration(f.Takes.P90) >= time.Second {
		text += fmt.Sprintf(" · bottleneck %s", strings.TrimSpace(f.Bottleneck.Resource+" "+f.Bottleneck.Value))
	}
	if guessed := slices.IndexFunc(f.Assumptions, func(a string) bool { return strings.Contains(a, "was not called yet") }); guessed >= 0 &&
		f.Bottleneck != nil && f.Bottleneck.Kind != "rate" && time.Duration(f.Takes.P90) >= time.Second {
		text += " · " + strings.TrimSuffix(f.Assumptions[guessed], ".")
	}
	if f.Deadline != nil && !*f.Deadline {
		text += " · " + p.yellow("the deadline will be missed")
	}
	if f.Finish == (api.Finish{}) {
		text += " · " + p.yellow("counted from its start: it, or its tenant, is paused or stopped")
	}
	return text
}
