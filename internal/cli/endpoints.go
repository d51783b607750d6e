package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/cli/config"
)

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

// corrects reports whether flags give a run that has its items already other endpoints.
func (o *runOptions) corrects() bool { return o.config != "" || len(o.steps) > 0 }

// corrected returns the chain of an earlier run with the endpoints that flags
// give: of --config by the names of actions, of --url in the order of the steps.
// The steps and their order stay, and with them the idempotency keys of the items.
func (o *runOptions) corrected(c catalogue, chain config.Chain) (config.Chain, error) {
	chain.Steps = slices.Clone(chain.Steps)
	steps := endpointsOf(chain)
	switch {
	case o.config != "" && len(o.steps) > 0:
		return chain, badUsage("keep one of them", "--config and --url do not go together: both give the run its URLs")
	case len(o.steps) > 0 && len(o.steps) != len(steps):
		return chain, badUsage(correction(chain), "--url is given %s, and the run has %s with a URL",
			plural(int64(len(o.steps)), "time", "times"), plural(int64(len(steps)), "step", "steps"))
	}
	found := o.config == ""
	for i, s := range steps {
		if len(o.steps) > 0 {
			s.URL = o.steps[i].URL
		}
		if known, ok := c.file.Actions[s.Action]; ok && o.config != "" {
			found = true
			s.URL, s.Header, s.HeaderFile, s.SecretFile = known.URL, known.Header, known.HeaderFile, known.SecretFile
		}
	}
	if !found {
		return chain, badUsage(correction(chain), "--config: %s has no action of this run that is called by its URL", o.config)
	}
	return chain, nil
}

// endpointsOf returns the steps of a chain that are called by their URL.
func endpointsOf(chain config.Chain) (steps []*config.Step) {
	for i := range chain.Steps {
		if s := &chain.Steps[i]; s.URL != "" {
			steps = append(steps, s)
		}
	}
	return steps
}

// correction says how a run that has its items already gets other URLs.
func correction(chain config.Chain) string {
	var names []string
	for _, s := range endpointsOf(chain) {
		names = append(names, s.Name)
	}
	switch len(names) {
	case 0:
		return "leave it out: no step of the run has a URL"
	case 1:
		return "add --url with the right URL, or correct weir.yaml and add --config weir.yaml"
	}
	return fmt.Sprintf("add --url %d times, with the right URLs of %s in this order, or correct weir.yaml and add --config weir.yaml", len(names), strings.Join(names, ", "))
}
