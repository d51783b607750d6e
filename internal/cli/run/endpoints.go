package run

import (
	"maps"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
)

// corrects reports whether flags give a run that has its items already other endpoints.
func (o *runOptions) corrects() bool { return o.config != "" || len(o.steps) > 0 }

// corrected returns the actions of an earlier run with the endpoints that flags
// give: of --config by the names of actions, of --url in the order of the steps.
// The steps and their order stay, and with them the idempotency keys of the items.
func (o *runOptions) corrected(c catalogue, actions map[string]config.Step, chain []api.Step) (map[string]config.Step, error) {
	actions = maps.Clone(actions)
	names := local.EndpointsOf(actions, chain)
	switch {
	case o.config != "" && len(o.steps) > 0:
		return nil, command.BadUsage("keep one of them", "--config and --url do not go together: both give the run its URLs")
	case len(o.steps) > 0 && len(o.steps) != len(names):
		return nil, command.BadUsage(local.Correction(names), "--url is given %s, and the run has %s with a URL",
			term.Plural(int64(len(o.steps)), "time", "times"), term.Plural(int64(len(names)), "step", "steps"))
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
		return nil, command.BadUsage(local.Correction(names),
			"--config: %s has no action of this run that is called by its URL", o.config)
	}
	return actions, nil
}
