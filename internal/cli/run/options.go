package run

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/spec"
)

// runOptions are the flags of weir run.
type runOptions struct {
	spec.Options
	local.Results
	config      string
	steps       stepList // of --action and --url, in the order of the command line
	secretFile  string
	each        config.Step // what flags say about every step
	data        string
	slots       int
	runTimeout  config.Span
	dryRun      bool
	resume      string
	approve     bool
	retryFailed string
}

// Newest stands for the run to resume when --resume names none.
const Newest = "newest"

func (o *runOptions) bind(fs *pflag.FlagSet) {
	o.Flags = fs
	command.Grouped(fs, "What to do (--action, --url or --chain)", func(fs *pflag.FlagSet) {
		fs.Var(actionFlag{&o.steps}, "action", "`NAME` of an action: demo.award, demo.message, or one of weir.yaml; repeat "+
			"the flag for a chain")
		fs.Var(urlFlag{&o.steps}, "url",
			"`URL` of an HTTP batch action; repeat the flag for a chain. With --resume: the corrected URL of each step that has one")
		fs.StringVar(&o.secretFile, "secret-file", "", "`FILE` with the secret that signs calls of --url")
		o.BindChain(fs)
		fs.StringVar(&o.config, "config", "",
			"`FILE` with actions and resources (default weir.yaml, if it exists). With --resume: read URLs, headers and secrets from it")
	})
	command.Grouped(fs, "What to read", o.BindInput)
	command.Grouped(fs, "How fast, how often, how long", o.bindLimits)
	command.Grouped(fs, "What to write", o.BindReport)
	command.Grouped(fs, "The run itself", o.bindRun)
}

func (o *runOptions) bindLimits(fs *pflag.FlagSet) {
	fs.Var(&o.each.Batch, "batch", "maximum items per call at every step (default 100)")
	fs.Var(&o.each.Rate, "rate", spec.RateHelp)
	fs.Var(&o.each.Concurrency, "concurrency", "maximum concurrent calls at every step")
	fs.Var(&o.each.Pacing, "pacing",
		"how a rate is used: smooth (an even stream of small calls) or full (few calls with full batches) (default smooth)")
	o.bindSlots(fs)
	fs.Var(&o.each.Timeout, "timeout", "timeout of a call (default 30s)")
	o.BindRules(fs)
	fs.Var(&o.Deadline, "deadline", "cancel the remaining items at this time, as in 2h or 2030-01-31T18:00:00Z")
	fs.Var(&o.runTimeout, "run-timeout", "save the state and stop after this time, as in 30m")
}

func (o *runOptions) bindSlots(fs *pflag.FlagSet) {
	fs.IntVar(&o.slots, "slots", 64, "maximum concurrent calls, all steps together: `N`")
	fs.Var(&o.each.Retries, "retries", "maximum retries of a failed item (default 4)")
}

func (o *runOptions) bindRun(fs *pflag.FlagSet) {
	fs.BoolVar(&o.dryRun, "dry-run", false, "check the input and show a forecast without running anything")
	fs.StringVar(&o.resume, "resume", "", "continue an interrupted run: its `ID`, or the newest")
	fs.Lookup("resume").NoOptDefVal = Newest
	fs.BoolVar(&o.approve, "approve", false, "with --resume: approve the canary and run the remaining items")
	fs.StringVar(&o.retryFailed, "retry-failed", "", "run only the failed items of the run `ID` again")
	fs.StringVar(&o.data, "data", local.DefaultData, "data `DIR` of the runs")
	fs.StringVar(&o.Name, "name", "", "`NAME` of the run (default: the name of the file)")
	fs.StringVar(&o.Tenant, "tenant", "", "`TENANT` that owns the run (default \"default\")")
}

// complete checks what goes together.
func (o *runOptions) complete(env *command.Env, args []string) error {
	if o.resume == Newest && len(args) == 1 && strings.HasPrefix(args[0], "ba_") {
		o.resume, args = args[0], nil
	}
	if len(args) == 1 {
		o.Input = args[0]
	}
	if err := o.strayAgain(); err != nil {
		return err
	}
	switch {
	case o.slots < 1:
		return command.BadUsage("write how many calls may run at once", "--slots: %d is not above 0", o.slots)
	case o.approve && o.resume == "":
		return command.BadUsage("write --resume ID --approve", "--approve needs the run that waits for approval")
	case o.resume != "" && len(args) > 0:
		return command.BadUsage("leave the file out: a resumed run has its items already", "--resume and %s do not go together", args[0])
	case o.retryFailed != "" && len(args) > 0:
		return command.BadUsage("leave the file out", "--retry-failed and %s do not go together", args[0])
	case (o.resume != "" || o.retryFailed != "") && o.dryRun:
		return command.BadUsage("leave --dry-run out, or name a file to check",
			"--dry-run checks an input file, and this run has its items already")
	case o.resume != "" || o.retryFailed != "":
		return o.CheckPlaces(env, "")
	case o.Input == "":
		return command.BadUsage("usage: "+env.Program+" run FILE --action NAME; - reads stdin", "the input file is missing")
	case o.Deadline.Past(time.Now()):
		return command.BadUsage("choose a later time", "--deadline: %s is in the past", o.Deadline.String())
	}
	if err := o.CheckLimit(); err != nil || o.dryRun {
		return err
	}
	return o.CheckPlaces(env, o.Input)
}

// onlyNew are the flags that say what a new run does, and nothing of one that has its items already.
var onlyNew = []string{
	"action", "secret-file", "chain", "map", "id", "format", "delimiter", "encoding", "limit", "duplicates", "invalid",
	"stop-failures", "canary", "label", "deadline", "name", "tenant", "tier",
}

// strayAgain refuses flags that --resume and --retry-failed would ignore.
func (o *runOptions) strayAgain() error {
	again, refused := "--resume", onlyNew
	if o.retryFailed != "" {
		again, refused = "--retry-failed", append([]string{"url", "config"}, onlyNew...)
	}
	if o.resume == "" && o.retryFailed == "" {
		return nil
	}
	for _, name := range refused {
		if o.Flags.Changed(name) {
			return command.BadUsage("leave --"+name+" out, or start a new run with it",
				"%s and --%s do not go together: the run keeps what it was started with", again, name)
		}
	}
	return nil
}

// chain makes the spec of flags and file, and returns how its actions are called.
func (o *runOptions) chain(env *command.Env, c catalogue) (map[string]config.Step, error) {
	if err := o.ReadChain(env); err != nil {
		return nil, err
	}
	n := &o.Spec
	switch {
	case len(o.steps) > 0 && len(n.Steps) > 0:
		return nil, command.BadUsage("keep one of --action/--url and --chain", "the chain is given in two ways")
	case len(o.steps) == 0 && len(n.Steps) == 0:
		return nil, command.BadUsage("add --action demo.award to try it, --url URL for your own, or --chain FILE", "no action is given")
	case n.Template != "" || n.Source != nil || n.Callback != nil || n.StartAt != "" || len(n.Items) > 0:
		return nil, command.BadUsage("leave them out, or send it to a server with "+env.Program+" submit",
			"%s: template, source, callback, start_at and items need a server", o.ChainFile)
	}
	actions := map[string]config.Step{}
	for _, s := range o.steps {
		if s.URL != "" {
			s.Action, s.SecretFile = urlName(s.URL), env.Path(o.secretFile)
			actions[s.Action] = config.Step{URL: s.URL, SecretFile: s.SecretFile}
		}
		n.Steps = append(n.Steps, api.Step{ID: freeName(s.Action, n.Steps), Action: s.Action})
	}
	for _, s := range n.Steps {
		a, ok := actions[s.Action]
		if !ok {
			var err error
			if a, err = c.find(s.Action); err != nil {
				return nil, err
			}
		}
		override(&a, &o.each)
		actions[s.Action] = a
	}
	n.Start = true
	return actions, o.Fill()
}

// mark puts the id of the run among the params; see [local.RunIn].
func (o *runOptions) mark(id string) error {
	all := map[string]any{}
	if len(o.Spec.Params) > 0 {
		if err := json.Unmarshal(o.Spec.Params, &all); err != nil || all == nil {
			return command.BadUsage("write it as in params: {campaign: spring}", "%s: params is not an object", o.ChainFile)
		}
	}
	if _, taken := all["weir_run"]; taken {
		return command.BadUsage("give the member another name", "%s: params.weir_run is the id of the run", o.ChainFile)
	}
	all["weir_run"] = id
	var err error
	o.Spec.Params, err = json.Marshal(all)
	return err
}

// stepList holds the steps of --action and --url in the order of the command line.
type stepList []config.Step

// String writes the steps as they were given.
func (l *stepList) String() string {
	var all []string
	for _, s := range *l {
		all = append(all, s.Action+s.URL)
	}
	return strings.Join(all, ",")
}

// Type is the word in help.
func (*stepList) Type() string { return "STEP" }

// actionFlag adds a step for each --action.
type actionFlag struct{ *stepList }

// Set implements [pflag.Value].
func (f actionFlag) Set(name string) error {
	*f.stepList = append(*f.stepList, config.Step{Action: name})
	return nil
}

// urlFlag adds a step for each --url.
type urlFlag struct{ *stepList }

// Set implements [pflag.Value].
func (f urlFlag) Set(url string) error {
	if url == "" {
		return errors.New("is empty; write it as in https://push.example.com/batch")
	}
	*f.stepList = append(*f.stepList, config.Step{URL: url})
	return nil
}
