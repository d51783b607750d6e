package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
)

// EndpointsOf lists the actions of a chain that are called by their URL, in the order of the steps.
func EndpointsOf(actions map[string]config.Step, chain []api.Step) (names []string) {
	for _, s := range chain {
		if actions[s.Action].URL != "" && !slices.Contains(names, s.Action) {
			names = append(names, s.Action)
		}
	}
	return names
}

// Correction says how a run that has its items already gets other URLs.
func Correction(names []string) string {
	switch len(names) {
	case 0:
		return "leave it out: no step of the run has a URL"
	case 1:
		return "add --url with the right URL, or correct weir.yaml and add --config weir.yaml"
	}
	return fmt.Sprintf("add --url %d times, with the right URLs of %s in this order, or correct weir.yaml and add "+
		"--config weir.yaml", len(names), strings.Join(names, ", "))
}
