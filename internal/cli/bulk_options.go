package cli

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/service/schedule"
)

// inputOptions say which file is read, and how.
type inputOptions struct {
	Input, ID, Format, Delimiter, Encoding string
	Limit                                  int
	Duplicates                             config.DuplicateRule
	Invalid                                config.InvalidRule
}

// bulkOptions are the flags of a bulk action that is made of a file: those that weir run and weir submit share.
// They fill in spec, which is what the API takes.
type bulkOptions struct {
	inputOptions
	flags        *pflag.FlagSet
	chainFile    string
	maps, labels []string
	canary       string
	name, tenant string
	tier         config.Tier
	stopFailures config.Stop
	keepTrying   bool
	deadline     config.Deadline
	unasked      bool // no rule for duplicates was given
	spec         api.NewBulkAction
}

// What flags do that several commands have.
const (
	rateHelp       = "maximum items per second at every step, as in 500/s; a call carries only a fraction of one second's items"
	keepTryingHelp = "continue even if no call of a step has ever succeeded (default: stop after 30s; 5s if every response says that the request itself is wrong, such as 404; 2m if the action has answered other bulk actions)"
	newKeysHelp    = "give the items new idempotency keys; a call that did succeed is then repeated (default: keep the keys)"
)

func (o *bulkOptions) bindChain(fs *pflag.FlagSet) {
	fs.StringVar(&o.chainFile, "chain", "",
		"YAML or JSON `FILE` with a bulk action in the format of the API: its steps and all options without a flag")
	fs.StringArrayVar(&o.maps, "map", nil, "`[STEP.]TO=EXPRESSION` for a field of a step's input, as in to=item.email")
}

func (o *bulkOptions) bindInput(fs *pflag.FlagSet) {
	fs.StringVar(&o.ID, "id", "", "`COLUMN` with the item's id (default: detected by name, such as id, user_id or email)")
	fs.StringVar(&o.Format, "format", "", "`FORMAT` of the file: csv, ndjson or json (default: detected)")
	fs.StringVar(&o.Delimiter, "delimiter", "", "`CHARACTER` between CSV cells (default: detected)")
	fs.StringVar(&o.Encoding, "encoding", "", "text `ENCODING` of the file (default: detected)")
	fs.IntVar(&o.Limit, "limit", 0, "take only the first `N` items")
	fs.Var(&o.Duplicates, "duplicates",
		"rows with a duplicate id: keep-first, refuse or keep-all (default keep-first, or refuse if there are many)")
	fs.Var(&o.Invalid, "invalid", "invalid rows: refuse the file, or skip them (default refuse)")
}

func (o *bulkOptions) bindRules(fs *pflag.FlagSet) {
	fs.Var(&o.tier, "tier", "urgency: critical, high, default or low")
	fs.Lookup("tier").DefValue = "" // said in our own words
	fs.StringVar(&o.canary, "canary", "", "run this `PART` first, as in 1% or 500, and wait for approval")
	fs.Var(&o.stopFailures, "stop-failures", "stop when more items fail than this, as in 5% or 100")
	fs.BoolVar(&o.keepTrying, "keep-trying", false, keepTryingHelp)
	fs.StringArrayVar(&o.labels, "label", nil, "label `KEY=VALUE`; repeatable")
}

// readChain reads the file of --chain into the spec.
func (o *bulkOptions) readChain(env *Env) error {
	if o.chainFile == "" {
		return nil
	}
	return readSpecFile(env, o.chainFile, &o.spec)
}

// checkLimit refuses a limit that takes nothing.
func (o *bulkOptions) checkLimit() error {
	if o.flags.Changed("limit") && o.Limit < 1 {
		return badUsage("write 1 or more, or leave it out for all", "--limit: %d takes no item", o.Limit)
	}
	return nil
}

// fill puts the flags over the file.
func (o *bulkOptions) fill() error {
	n := &o.spec
	set(&n.Name, o.name)
	if n.Name == "" && n.Template == "" {
		n.Name = inputName(o.Input)
	}
	set(&n.Tenant, o.tenant)
	if o.flags.Changed("tier") {
		n.Tier = o.tier.String()
	}
	if o.flags.Changed("stop-failures") {
		r := o.stopFailures.Rule
		n.StopOn = &api.StopOn{FailureRate: r.FailureRate, MinItems: r.MinItems, MaxFailures: r.MaxFailures, Cancel: r.Cancel}
	}
	if o.keepTrying {
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
	if at := o.deadline.From(start); !at.IsZero() {
		n.Deadline = at
	}
	if o.ID == "" {
		o.ID = n.ItemID
	}
	o.setDuplicates()
	for _, set := range []func() error{o.setMaps, o.setCanary, o.setLabels} {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

func set(where *string, value string) {
	if value != "" {
		*where = value
	}
}

// setDuplicates says what happens to rows whose id came before. With a template, that does: all rows are sent.
func (o *bulkOptions) setDuplicates() {
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

func (o *bulkOptions) setLabels() error {
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
func (o *bulkOptions) setCanary() error {
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
func (o *bulkOptions) setMaps() error {
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

// readSpecFile reads something in the API's shape, as YAML or JSON.
func readSpecFile(env *Env, path string, into any) error {
	raw, err := os.ReadFile(env.path(path))
	if err != nil {
		return badUsage("check the spelling; the path is taken from the working directory", "%v", err)
	}
	return decodeSpec(path, raw, into)
}
