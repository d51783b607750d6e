package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/service/schedule"
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
	config.Run
	flags         *pflag.FlagSet
	chainFile     string
	template      string
	params        []string
	maps, labels  []string
	canary        string
	rate          config.Rate
	startAt, zone string
	start, watch  bool
	wait          bool
	timeout       config.Span
	resume        string
	unasked       bool // no rule for duplicates was given
	spec          api.NewBulkAction
}

func (o *submitOptions) bind(fs *pflag.FlagSet) {
	o.flags = fs
	grouped(fs, "What to do (--action, --chain or --template)", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&o.Actions, "action", nil, "`NAME` of an action of the server; repeat the flag for a chain")
		fs.StringVar(&o.chainFile, "chain", "", "YAML or JSON `FILE` with a bulk action in the format of the API: its steps and all options without a flag")
		fs.StringArrayVar(&o.maps, "map", nil, "`[STEP.]TO=EXPRESSION` for a field of a step's input, as in to=item.email")
		fs.StringVar(&o.template, "template", "", "`NAME` of a template of the server, with its steps and rules")
		fs.StringArrayVar(&o.params, "param", nil, "`NAME=VALUE` of a template parameter, as in amount=500; repeatable")
	})
	grouped(fs, "What to read", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.ID, "id", "", idHelp)
		fs.StringVar(&o.Format, "format", "", "`FORMAT` of the file: csv, ndjson or json (default: detected)")
		fs.StringVar(&o.Delimiter, "delimiter", "", "`CHARACTER` between CSV cells (default: detected)")
		fs.StringVar(&o.Encoding, "encoding", "", "text `ENCODING` of the file (default: detected)")
		fs.IntVar(&o.Limit, "limit", 0, "take only the first `N` items")
		fs.Var(&o.Duplicates, "duplicates", duplicatesHelp)
		fs.Var(&o.Invalid, "invalid", "invalid rows: refuse the file, or skip them (default refuse)")
	})
	grouped(fs, "How", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.Name, "name", "", "`NAME` of the bulk action (default: the name of the file)")
		fs.StringVar(&o.Tenant, "tenant", "", "`TENANT` that owns the bulk action (default: the tenant of the API key)")
		fs.Var(&o.Tier, "tier", "urgency: critical, high, default or low")
		fs.Var(&o.rate, "rate", rateHelp)
		fs.StringVar(&o.canary, "canary", "", "run this `PART` first, as in 1% or 500, and wait for approval")
		fs.Var(&o.StopFailures, "stop-failures", "stop when more items fail than this, as in 5% or 100")
		fs.BoolVar(&o.KeepTrying, "keep-trying", false, keepTryingHelp)
		fs.Var(&o.Deadline, "deadline", "cancel the remaining items at this time: 2h counts from now, or from --start-at; or a time, as in 2030-01-31T18:00:00Z")
		fs.StringArrayVar(&o.labels, "label", nil, "label `KEY=VALUE`; repeatable")
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
	err := orEnd(ctx, func() (err error) { in, err = openInput(l.env, &o.Run, discard{}); return err })
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
	if o.chainFile != "" {
		if err := readSpecFile(env, o.chainFile, n); err != nil {
			return err
		}
	}
	if err := o.chooseTemplate(); err != nil {
		return err
	}
	if len(o.Actions) > 0 && len(n.Steps) > 0 {
		return badUsage("keep one of --action and --chain", "the steps are given in two ways")
	}
	for _, a := range o.Actions {
		n.Steps = append(n.Steps, api.Step{Action: a})
	}
	switch {
	case o.Input == "-" && env.StdinTerminal:
		return badUsage("pipe it in, as in  cat users.csv | "+env.Program+" submit -", "stdin is a terminal: no input is piped in")
	case o.resume != "" && o.Input == "-":
		return badUsage("send all of it anew", "--resume reads the file again, and stdin cannot be read again")
	case o.start && o.startAt != "":
		return badUsage("keep one of --start and --start-at", "it cannot start at once and at %s", o.startAt)
	case o.flags.Changed("limit") && o.Limit < 1:
		return badUsage("write 1 or more, or leave it out for all", "--limit: %d takes no item", o.Limit)
	case o.wait && !o.start && o.startAt == "" && !n.Start:
		return badUsage("add --start", "--wait waits for an end that comes only after a start")
	case o.watch && !o.start && o.startAt == "" && !n.Start:
		return badUsage("add --start", "--watch watches what has been started")
	case o.Deadline.FromStart() && !o.start && o.startAt == "" && !n.Start && n.StartAt == "" && o.resume == "":
		return badUsage("add --start or --start-at, or write a time, as in 2030-01-31T18:00:00Z", "--deadline: %s counts from the start, and nothing says when that is", o.Deadline.String())
	case len(n.Steps) == 0 && n.Template == "" && o.resume == "":
		return badUsage("add --action NAME, --chain FILE or --template NAME; "+env.Program+" actions list shows the actions", "no action is given")
	}
	o.overrule(env)
	for _, set := range []func() error{o.setMaps, o.setCanary, o.setLabels} {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

// overrule puts the flags over the file.
func (o *submitOptions) overrule(env *Env) {
	n := &o.spec
	set := func(where *string, value string) {
		if value != "" {
			*where = value
		}
	}
	set(&n.Name, o.Name)
	if n.Name == "" && n.Template == "" {
		n.Name = inputName(o.Input)
	}
	set(&n.Tenant, o.Tenant)
	set(&n.StartAt, o.startAt)
	set(&n.Zone, o.zone)
	if o.flags.Changed("tier") {
		n.Tier = o.Tier.String()
	}
	if o.flags.Changed("stop-failures") {
		r := o.StopFailures.Rule
		n.StopOn = &api.StopOn{FailureRate: r.FailureRate, MinItems: r.MinItems, MaxFailures: r.MaxFailures, Cancel: r.Cancel}
	}
	if o.KeepTrying {
		rule := api.StopOn{}
		if n.StopOn != nil {
			rule = *n.StopOn
		}
		rule.KeepTrying = true
		n.StopOn = &rule
	}
	start := time.Now()
	if at, _, err := schedule.ParseStart("start_at", n.StartAt, n.Zone, start); err == nil { // else the server says what is wrong
		start = at
	}
	if at := o.Deadline.From(start); !at.IsZero() {
		n.Deadline = at
	}
	if o.rate > 0 {
		n.Rates = map[string]api.Rate{}
		for _, s := range n.Steps {
			n.Rates[stepName(s)] = api.Rate(o.rate)
		}
	}
	o.setDuplicates()
	o.start = o.start || n.Start
	n.Start = false // only after all items are there, and the forecast was shown
	if o.ID == "" {
		o.ID = n.ItemID
	}
}

// setDuplicates says what happens to rows whose id came before. With a template, that does: all rows are sent.
func (o *submitOptions) setDuplicates() {
	n := &o.spec
	o.unasked = n.Duplicates == "" && n.Template == "" && !o.flags.Changed("duplicates")
	if n.Duplicates == "" || o.flags.Changed("duplicates") {
		n.Duplicates = strings.ReplaceAll(string(o.Duplicates), "-", "_")
	}
	if n.Template != "" && !o.flags.Changed("duplicates") {
		n.Duplicates, o.Duplicates = "", config.KeepAll
		return
	}
	if n.Duplicates == "" {
		n.Duplicates = "keep_first"
	}
	o.Duplicates = config.DuplicateRule(strings.ReplaceAll(n.Duplicates, "_", "-"))
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

func (o *submitOptions) setLabels() error {
	for _, text := range o.labels {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return badUsage("write it as in team=growth", "--label: %q has no key", text)
		}
		if o.spec.Labels == nil {
			o.spec.Labels = map[string]string{}
		}
		o.spec.Labels[k] = v
	}
	return nil
}

// setCanary reads the part that runs first.
func (o *submitOptions) setCanary() error {
	if o.canary == "" {
		return nil
	}
	var s config.Stop // the same two forms
	if err := s.Set(o.canary); err != nil {
		return badUsage("write a part or a number of items, as in 1% or 500", "--canary: %v", err)
	}
	if s.Rule.MaxFailures < 0 {
		return badUsage("write 1 or more, or leave it out", "--canary: a canary needs at least 1 item")
	}
	c := api.Canary{Percent: s.Rule.FailureRate * 100, Items: s.Rule.MaxFailures}
	if before := o.spec.Canary; before != nil {
		c.Approve, c.SuccessRate, c.P95 = before.Approve, before.SuccessRate, before.P95
	}
	o.spec.Canary = &c
	return nil
}

// setMaps reads what steps get.
func (o *submitOptions) setMaps() error {
	for _, text := range o.maps {
		to, expression, ok := strings.Cut(text, "=")
		if !ok || to == "" || expression == "" {
			return badUsage("write it as in to=item.email", "--map: %q has no expression", text)
		}
		at := -1
		for i, s := range o.spec.Steps {
			if rest, found := strings.CutPrefix(to, stepName(s)+"."); found {
				at, to = i, rest
			}
		}
		if at < 0 && len(o.spec.Steps) != 1 {
			return badUsage("write the step before it, as in "+stepName(o.spec.Steps[0])+"."+text, "--map: %q does not say which step", text)
		}
		s := &o.spec.Steps[max(at, 0)]
		if s.Input == nil {
			s.Input = map[string]string{}
		}
		s.Input[to] = expression
	}
	return nil
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
		text += " · " + aboutCalls(calls)
	}
	if f.Bottleneck != nil {
		text += fmt.Sprintf(" · bottleneck %s", strings.TrimSpace(f.Bottleneck.Resource+" "+f.Bottleneck.Value))
	}
	if f.Deadline != nil && !*f.Deadline {
		text += " · " + p.yellow("the deadline will be missed")
	}
	if f.Finish == (api.Finish{}) {
		text += " · " + p.yellow("counted from its start: it, or its tenant, is paused or stopped")
	}
	return text
}

// readSpecFile reads something in the API's shape, as YAML or JSON.
func readSpecFile(env *Env, path string, into any) error {
	raw, err := os.ReadFile(env.path(path))
	if err != nil {
		return badUsage("check the spelling; the path is taken from the working directory", "%v", err)
	}
	return decodeSpec(path, raw, into)
}
