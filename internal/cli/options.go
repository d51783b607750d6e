package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/report"
)

// runOptions are the flags of weir run.
type runOptions struct {
	config.Run
	flags       *pflag.FlagSet
	spec        string
	config      string
	chainFile   string
	steps       stepList // of --action and --url, in the order of the command line
	secretFile  string
	each        config.Step // what flags say about every step
	data        string
	slots       int
	runTimeout  config.Span
	dryRun      bool
	resume      string
	retryFailed string
	newKeys     bool   // of weir retry
	state       string // of weir retry
}

// newest stands for the run to resume when --resume names none.
const newest = "newest"

func (o *runOptions) bind(fs *pflag.FlagSet) {
	o.flags = fs
	grouped(fs, "What to do (one of --action/--url, --chain, --spec)", o.bindChain)
	grouped(fs, "What to read", o.bindInput)
	grouped(fs, "How fast, how often, how long", o.bindLimits)
	grouped(fs, "What to write", o.bindReport)
	grouped(fs, "The run itself", o.bindRun)
}

func (o *runOptions) bindChain(fs *pflag.FlagSet) {
	fs.Var(actionFlag{&o.steps}, "action", "`NAME` of an action: demo.award, demo.message, or one of weir.yaml; repeat the flag for a chain")
	fs.Var(urlFlag{&o.steps}, "url", "`URL` of an HTTP batch action; repeat the flag for a chain. With --resume: the corrected URL of each step that has one")
	fs.StringVar(&o.secretFile, "secret-file", "", "`FILE` with the secret that signs calls of --url")
	fs.StringVar(&o.chainFile, "chain", "", "YAML `FILE` with the steps of a chain")
	fs.StringVar(&o.spec, "spec", "", "YAML `FILE` with the options of a run; flags override it")
	fs.StringVar(&o.config, "config", "", "`FILE` with actions and resources (default weir.yaml, if it exists). With --resume: read URLs, headers and secrets from it")
}

// What flags do that several commands have.
const (
	rateHelp       = "maximum items per second at every step, as in 500/s; a call carries only a fraction of one second's items"
	idHelp         = "`COLUMN` with the item's id (default: detected by name, such as id, user_id or email)"
	duplicatesHelp = "rows with a duplicate id: keep-first, refuse or keep-all (default keep-first, or refuse if there are many)"
)

func (o *runOptions) bindInput(fs *pflag.FlagSet) {
	fs.StringVar(&o.ID, "id", "", idHelp)
	fs.StringVar(&o.Format, "format", "", "`FORMAT` of the file: csv, ndjson or json (default: detected)")
	fs.StringVar(&o.Delimiter, "delimiter", "", "`CHARACTER` between CSV cells (default: detected)")
	fs.StringVar(&o.Encoding, "encoding", "", "text `ENCODING` of the file (default: detected)")
	fs.IntVar(&o.Limit, "limit", 0, "take only the first `N` items")
	fs.Var(&o.Duplicates, "duplicates", duplicatesHelp)
	fs.Var(&o.Invalid, "invalid", "invalid rows: refuse the file, or skip them (default refuse)")
}

func (o *runOptions) bindLimits(fs *pflag.FlagSet) {
	fs.Var(&o.each.Batch, "batch", "maximum items per call at every step (default 100)")
	fs.Var(&o.each.Rate, "rate", rateHelp)
	fs.Var(&o.each.Concurrency, "concurrency", "maximum concurrent calls at every step")
	fs.Var(&o.each.Pacing, "pacing", "how a rate is used: smooth (an even stream of small calls) or full (few calls with full batches) (default smooth)")
	fs.IntVar(&o.slots, "slots", 64, "maximum concurrent calls, all steps together: `N`")
	fs.Var(&o.each.Retries, "retries", "maximum retries of a failed item (default 4)")
	fs.Var(&o.each.Timeout, "timeout", "timeout of a call (default 30s)")
	fs.Var(&o.StopFailures, "stop-failures", "stop when more items fail than this, as in 5% or 100")
	fs.BoolVar(&o.KeepTrying, "keep-trying", false, keepTryingHelp)
	fs.Var(&o.Deadline, "deadline", "cancel the remaining items at this time, as in 2h or 2030-01-31T18:00:00Z")
	fs.Var(&o.runTimeout, "run-timeout", "save the state and stop after this time, as in 30m")
}

func (o *runOptions) bindReport(fs *pflag.FlagSet) {
	fs.StringVar(&o.Report, "report", "", "`DIR` for the report; an existing report is replaced")
	fs.Var(&o.ReportFormat, "report-format", "csv or ndjson (default csv)")
	fs.StringVar(&o.SummaryJSON, "summary-json", "", "`FILE` for the summary alone; - is stdout")
}

func (o *runOptions) bindRun(fs *pflag.FlagSet) {
	fs.BoolVar(&o.dryRun, "dry-run", false, "check the input and show a forecast without running anything")
	fs.StringVar(&o.resume, "resume", "", "continue an interrupted run: its `ID`, or the newest")
	fs.Lookup("resume").NoOptDefVal = newest
	fs.StringVar(&o.retryFailed, "retry-failed", "", "run only the failed items of the run `ID` again")
	fs.StringVar(&o.data, "data", defaultData, "data `DIR` of the runs")
	fs.StringVar(&o.Name, "name", "", "`NAME` of the run (default: the name of the file)")
	fs.StringVar(&o.Tenant, "tenant", "", "`TENANT` that owns the run (default \"default\")")
	fs.Var(&o.Tier, "tier", "critical, high, default or low (default default)")
	fs.Lookup("tier").DefValue = "" // said in our own words
}

// complete puts flags over the spec file, and checks what goes together.
func (o *runOptions) complete(env *Env, args []string) error {
	if err := o.readSpec(env); err != nil {
		return err
	}
	if o.resume == newest && len(args) == 1 && strings.HasPrefix(args[0], "ba_") {
		o.resume, args = args[0], nil
	}
	if len(args) == 1 {
		o.Input = args[0]
	}
	if err := o.strayAgain(); err != nil {
		return err
	}
	switch {
	case o.resume != "" && len(args) > 0:
		return badUsage("leave the file out: a resumed run has its items already", "--resume and %s do not go together", args[0])
	case o.retryFailed != "" && len(args) > 0:
		return badUsage("leave the file out", "--retry-failed and %s do not go together", args[0])
	case (o.resume != "" || o.retryFailed != "") && o.dryRun:
		return badUsage("leave --dry-run out, or name a file to check", "--dry-run checks an input file, and this run has its items already")
	case o.resume != "" || o.retryFailed != "":
		return o.checkPlaces(env)
	case o.Input == "":
		return badUsage("usage: "+env.Program+" run FILE --action NAME; - reads stdin", "the input file is missing")
	case o.Limit < 0, o.Limit == 0 && o.flags.Changed("limit"):
		return badUsage("write 1 or more, or leave it out for all", "--limit: %d takes no item", o.Limit)
	case o.Deadline.Past(time.Now()):
		return badUsage("choose a later time", "--deadline: %s is in the past", o.Deadline.String())
	}
	return o.checkPlaces(env)
}

// onlyNew are the flags that say what a new run does, and nothing of one that has its items already.
var onlyNew = []string{
	"action", "secret-file", "chain", "id", "format", "delimiter", "encoding", "limit", "duplicates", "invalid",
	"stop-failures", "deadline", "name", "tenant", "tier",
}

// strayAgain refuses flags that --resume and --retry-failed would ignore.
func (o *runOptions) strayAgain() error {
	again := "--resume"
	if o.retryFailed != "" {
		again = "--retry-failed"
	}
	if o.resume == "" && o.retryFailed == "" {
		return nil
	}
	refused := onlyNew
	if o.retryFailed != "" {
		refused = append([]string{"url", "config"}, onlyNew...)
	}
	for _, name := range refused {
		if o.flags.Changed(name) {
			return badUsage("leave --"+name+" out, or start a new run with it", "%s and --%s do not go together: the run keeps what it was started with", again, name)
		}
	}
	return nil
}

func (o *runOptions) readSpec(env *Env) error {
	if o.slots < 1 {
		return badUsage("write how many calls may run at once", "--slots: %d is not above 0", o.slots)
	}
	if o.spec == "" {
		return nil
	}
	given := map[*pflag.Flag]string{}
	o.flags.Visit(func(f *pflag.Flag) { given[f] = f.Value.String() })
	if err := config.LoadRun(env.path(o.spec), &o.Run); err != nil {
		return asWritten(err, o.spec)
	}
	for f, text := range given {
		if f.Name == "action" || f.Name == "url" {
			continue
		}
		if err := f.Value.Set(text); err != nil {
			return err
		}
	}
	if len(o.steps) > 0 {
		o.Actions, o.Chain = nil, config.Chain{}
	}
	return nil
}

// chain is the chain that flags and files ask for.
func (o *runOptions) chain(env *Env, c catalogue) (config.Chain, error) {
	var chain config.Chain
	ways := 0
	if o.chainFile != "" {
		ways++
		loaded, err := config.LoadChain(env.path(o.chainFile))
		if err != nil {
			return chain, asWritten(err, o.chainFile)
		}
		chain = *loaded
	}
	if len(o.Chain.Steps) > 0 {
		ways++
		chain = o.Chain
	}
	if len(o.Actions)+len(o.steps) > 0 {
		ways++
		chain = config.Chain{Steps: o.stepsFromFlags(env)}
	}
	switch ways {
	case 0:
		return chain, badUsage("add --action demo.award to try it, --url URL for your own, or --chain FILE", "no action is given")
	case 1:
	default:
		return chain, badUsage("keep one of --action/--url, --chain and the spec's chain", "the chain is given in two ways")
	}
	return o.overridden(c, chain)
}

// overridden resolves a chain and puts the flags for every step over it.
func (o *runOptions) overridden(c catalogue, chain config.Chain) (config.Chain, error) {
	chain, err := c.resolve(chain)
	if err != nil {
		return chain, err
	}
	for i := range chain.Steps {
		override(&chain.Steps[i], &o.each)
	}
	return chain, nil
}

func (o *runOptions) stepsFromFlags(env *Env) (steps []config.Step) {
	for _, a := range o.Actions { // of the spec file
		steps = append(steps, config.Step{Action: a})
	}
	for _, s := range o.steps {
		if s.URL != "" {
			s.SecretFile = env.path(o.secretFile)
		}
		steps = append(steps, s)
	}
	return steps
}

// catalogue reads weir.yaml, if there is one or one was asked for.
func (o *runOptions) catalogue(env *Env) (catalogue, error) {
	path := o.config
	if path == "" {
		path = config.FileName
		if _, err := os.Stat(env.path(path)); errors.Is(err, os.ErrNotExist) {
			return newCatalogue(env, nil), nil
		}
	}
	file, err := config.LoadFile(env.path(path))
	if err != nil {
		return catalogue{}, asWritten(err, path)
	}
	return newCatalogue(env, file), nil
}

// asWritten names a file in an error by the path that the user wrote.
func asWritten(err error, path string) error {
	if e, ok := errors.AsType[*config.Error](err); ok {
		e.File = path
	}
	return err
}

// checkPlaces finds out before the work whether its results can be written.
func (o *runOptions) checkPlaces(env *Env) error {
	if o.dryRun {
		return nil
	}
	if o.Report != "" {
		if report.Replaces(env.path(o.Report), env.path(o.Input)) {
			return badUsage("choose another folder with --report", "--report: the report would replace the input %s", o.Input)
		}
		if err := probe(env.path(o.Report)); err != nil {
			return badUsage("choose another folder with --report", "--report: %v", err)
		}
	}
	if o.SummaryJSON != "" && o.SummaryJSON != "-" {
		if err := probe(filepath.Dir(env.path(o.SummaryJSON))); err != nil {
			return badUsage("choose another file with --summary-json", "--summary-json: %v", err)
		}
	}
	return nil
}
