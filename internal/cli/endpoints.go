package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
)

// corrects reports whether flags give a run that has its items already other endpoints.
func (o *runOptions) corrects() bool { return o.config != "" || len(o.steps) > 0 }

// corrected returns the actions of an earlier run with the endpoints that flags
// give: of --config by the names of actions, of --url in the order of the steps.
// The steps and their order stay, and with them the idempotency keys of the items.
func (o *runOptions) corrected(c catalogue, actions map[string]config.Step, chain []api.Step) (map[string]config.Step, error) {
	actions = maps.Clone(actions)
	names := endpointsOf(actions, chain)
	switch {
	case o.config != "" && len(o.steps) > 0:
		return nil, badUsage("keep one of them", "--config and --url do not go together: both give the run its URLs")
	case len(o.steps) > 0 && len(o.steps) != len(names):
		return nil, badUsage(correction(names), "--url is given %s, and the run has %s with a URL",
			plural(int64(len(o.steps)), "time", "times"), plural(int64(len(names)), "step", "steps"))
	}
	found := o.config == ""
	for i, name := range names {
		a := actions[name]
		if len(o.steps) > 0 {
			a.URL = o.steps[i].URL
		}
		if known, ok := c.file.Actions[name]; ok && o.config != "" {
			found = true
			a.URL, a.Header, a.HeaderFile, a.SecretFile = known.URL, known.Header, known.HeaderFile, known.SecretFile
		}
		actions[name] = a
	}
	if !found {
		return nil, badUsage(correction(names), "--config: %s has no action of this run that is called by its URL", o.config)
	}
	return actions, nil
}

// endpointsOf lists the actions of a chain that are called by their URL, in the order of the steps.
func endpointsOf(actions map[string]config.Step, chain []api.Step) (names []string) {
	for _, s := range chain {
		if actions[s.Action].URL != "" && !slices.Contains(names, s.Action) {
			names = append(names, s.Action)
		}
	}
	return names
}

// correction says how a run that has its items already gets other URLs.
func correction(names []string) string {
	switch len(names) {
	case 0:
		return "leave it out: no step of the run has a URL"
	case 1:
		return "add --url with the right URL, or correct weir.yaml and add --config weir.yaml"
	}
	return fmt.Sprintf("add --url %d times, with the right URLs of %s in this order, or correct weir.yaml and add --config weir.yaml", len(names), strings.Join(names, ", "))
}
