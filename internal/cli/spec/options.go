// Package spec reads what users describe: bulk actions in files and flags, objects of the API in YAML or JSON, and
// the items of an input file. weir run and weir submit share all of it.
package spec

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/service/schedule"
)

// InputOptions say which file is read, and how.
type InputOptions struct {
	Input, ID, Format, Delimiter, Encoding string
	Limit                                  int
	Duplicates                             config.DuplicateRule
	FoldIDs                                bool // ids are read in lower case
	Invalid                                config.InvalidRule
}

// Options are the flags of a bulk action that is made of a file: those that weir run and weir submit share.
// They fill in spec, which is what the API takes.
type Options struct {
	InputOptions
	Flags        *pflag.FlagSet
	ChainFile    string
	maps, labels []string
	canary       string
	Name, Tenant string
	tier         config.Tier
	stopFailures config.Stop
	KeepTrying   bool
	Deadline     config.Deadline
	Unasked      bool // no rule for duplicates was given
	Spec         api.NewBulkAction
}

// What flags do that several commands have.
const (
	RateHelp       = "maximum items per second at every step, as in 500/s; a call carries only a fraction of one second's items"
	keepTryingHelp = "continue even if no call of a step has ever succeeded (default: stop after 30s; 5s if every " +
		"response says that the request itself is wrong, such as 404; 2m if the action has answered other bulk actions)"
	NewKeysHelp = "give the items new idempotency keys; a call that did succeed is then repeated (default: keep the keys)"
)

// BindChain adds the flags that say what is done.
func (o *Options) BindChain(fs *pflag.FlagSet) {
	fs.StringVar(&o.ChainFile, "chain", "",
		"YAML or JSON `FILE` with a bulk action in the format of the API: its steps and all options without a flag")
	fs.StringArrayVar(&o.maps, "map", nil, "`[STEP.]TO=EXPRESSION` for a field of a step's input, as in to=item.email")
}

// BindInput adds the flags that say how the file is read.
func (o *Options) BindInput(fs *pflag.FlagSet) {
	fs.StringVar(&o.ID, "id", "", "`COLUMN` with the item's id (default: detected by name, such as id, user_id or email)")
	fs.StringVar(&o.Format, "format", "", "`FORMAT` of the file: csv, ndjson or json (default: detected)")
	fs.StringVar(&o.Delimiter, "delimiter", "", "`CHARACTER` between CSV cells (default: detected)")
	fs.StringVar(&o.Encoding, "encoding", "", "text `ENCODING` of the file (default: detected)")
	fs.IntVar(&o.Limit, "limit", 0, "take only the first `N` items")
	fs.BoolVar(&o.FoldIDs, "fold-ids", false, "read ids in lower case and without spaces around them, so that Anna@X.de is anna@x.de")
	fs.Var(&o.Duplicates, "duplicates",
		"rows with a duplicate id: keep-first, refuse or keep-all (default keep-first, or refuse if there are many)")
	fs.Var(&o.Invalid, "invalid", "invalid rows: refuse the file, or skip them (default refuse)")
}

// BindRules adds the flags that say under which rules the items run.
func (o *Options) BindRules(fs *pflag.FlagSet) {
	fs.Var(&o.tier, "tier", "urgency: critical, high, default or low")
	fs.Lookup("tier").DefValue = "" // said in our own words
	fs.StringVar(&o.canary, "canary", "", "run this `PART` first, as in 1% or 500, and wait for approval")
	fs.Var(&o.stopFailures, "stop-failures", "stop when more items fail than this, as in 5% or 100")
	fs.BoolVar(&o.KeepTrying, "keep-trying", false, keepTryingHelp)
	fs.StringArrayVar(&o.labels, "label", nil, "label `KEY=VALUE`; repeatable")
}

// ReadChain reads the file of --chain into the spec.
func (o *Options) ReadChain(env *command.Env) error {
	if o.ChainFile == "" {
		return nil
	}
	return ReadFile(env, o.ChainFile, &o.Spec)
}

// CheckLimit refuses a limit that takes nothing.
func (o *Options) CheckLimit() error {
	if o.Flags.Changed("limit") && o.Limit < 1 {
		return command.BadUsage("write 1 or more, or leave it out for all", "--limit: %d takes no item", o.Limit)
	}
	return nil
}

// Fill puts the flags over the file.
func (o *Options) Fill() error {
	n := &o.Spec
	n.Name = cmp.Or(o.Name, n.Name)
	if n.Name == "" && n.Template == "" {
		n.Name = inputName(o.Input)
	}
	n.Tenant = cmp.Or(o.Tenant, n.Tenant)
	if o.Flags.Changed("tier") {
		n.Tier = o.tier.String()
	}
	if o.Flags.Changed("stop-failures") {
		r := o.stopFailures.Rule
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
	n.FoldIDs = n.FoldIDs || o.FoldIDs
	o.FoldIDs = n.FoldIDs
	if o.ID == "" {
		o.ID = n.ItemID
	}
	o.setDuplicates()
	for _, set := range []func() error{o.setInvalid, o.setMaps, o.setCanary, o.setLabels} {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

// setDuplicates says what happens to rows whose id came before. With a template, that does: all rows are sent.
func (o *Options) setDuplicates() {
	n := &o.Spec
	o.Unasked = n.Duplicates == "" && n.Template == "" && !o.Flags.Changed("duplicates")
	if n.Duplicates == "" || o.Flags.Changed("duplicates") {
		n.Duplicates = strings.ReplaceAll(string(o.Duplicates), "-", "_")
	}
	if n.Template != "" && !o.Flags.Changed("duplicates") {
		n.Duplicates, o.Duplicates = "", config.KeepAll
		return
	}
	if n.Duplicates == "" {
		n.Duplicates = "keep_first"
	}
	o.Duplicates = config.DuplicateRule(strings.ReplaceAll(n.Duplicates, "_", "-"))
}

// setInvalid takes the rule for invalid rows from the file, unless the flag sets it: rows are read here.
func (o *Options) setInvalid() error {
	switch rule := o.Spec.OnBadLine; rule {
	case "", "refuse":
	case "record":
		if !o.Flags.Changed("invalid") {
			o.Invalid = config.SkipInvalid
		}
	default:
		return command.BadUsage("write refuse or record", "on_bad_line: %q is unknown", rule)
	}
	return nil
}

func (o *Options) setLabels() error {
	for _, text := range o.labels {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return command.BadUsage("write it as in team=growth", "--label: %q has no key", text)
		}
		if o.Spec.Labels == nil {
			o.Spec.Labels = map[string]string{}
		}
		o.Spec.Labels[k] = v
	}
	return nil
}

// setCanary reads the part that runs first.
func (o *Options) setCanary() error {
	if o.canary == "" {
		return nil
	}
	var s config.Stop // the same two forms
	if err := s.Set(o.canary); err != nil {
		return command.BadUsage("write a part or a number of items, as in 1% or 500", "--canary: %v", err)
	}
	if s.Rule.MaxFailures < 0 {
		return command.BadUsage("write 1 or more, or leave it out", "--canary: a canary needs at least 1 item")
	}
	c := api.Canary{Percent: s.Rule.FailureRate * 100, Items: s.Rule.MaxFailures}
	if before := o.Spec.Canary; before != nil {
		c.Approve, c.SuccessRate, c.P95 = before.Approve, before.SuccessRate, before.P95
	}
	o.Spec.Canary = &c
	return nil
}

// setMaps reads what steps get.
func (o *Options) setMaps() error {
	for _, text := range o.maps {
		to, expression, ok := strings.Cut(text, "=")
		if !ok || to == "" || expression == "" {
			return command.BadUsage("write it as in to=item.email", "--map: %q has no expression", text)
		}
		at := -1
		for i, s := range o.Spec.Steps {
			if rest, found := strings.CutPrefix(to, StepName(s)+"."); found {
				at, to = i, rest
			}
		}
		if at < 0 && len(o.Spec.Steps) != 1 {
			return o.whichStep(to, text)
		}
		s := &o.Spec.Steps[max(at, 0)]
		if s.Input == nil {
			s.Input = map[string]string{}
		}
		s.Input[to] = expression
	}
	return nil
}

// whichStep refuses a --map that names none of the steps.
func (o *Options) whichStep(to, text string) error {
	var names []string
	for _, s := range o.Spec.Steps {
		names = append(names, StepName(s))
	}
	if len(names) == 0 {
		return command.BadUsage("leave it out", "--map: %q needs a step, and no step is given here", text)
	}
	fix := "the steps are " + strings.Join(names, ", ") + "; write one of them before it, as in " + names[0] + "." + text
	step, field, dotted := strings.Cut(to, ".")
	if !dotted {
		return command.BadUsage(fix, "--map: %q does not say which step", text)
	}
	fix = "the steps are " + strings.Join(names, ", ")
	if meant := near.Word(step, names); meant != "" {
		fix = fmt.Sprintf("did you mean %s.%s? %s", meant, field, fix)
	}
	return command.BadUsage(fix, "--map: %q: no step is called %s", text, step)
}

// ReadFile reads something in the API's shape, as YAML or JSON.
func ReadFile(env *command.Env, path string, into any) error {
	raw, err := os.ReadFile(env.Path(path))
	if err != nil {
		return command.BadUsage("check the spelling; the path is taken from the working directory", "%v", err)
	}
	return Decode(path, raw, into)
}
