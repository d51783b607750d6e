package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/run"
	"github.com/weirhq/weir/internal/cli/term"
)

// otherFlags is the heading of flags without one.
const otherFlags = "Other"

// usage prints how a command is called: examples first, then its flags under their headings.
func usage(env *command.Env, c *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.ReplaceAll(c.Example, "weir ", env.Program+" "))
	}
	wide := command.HelpWidth
	if env.Terminal != nil {
		wide = min(wide, max(40, env.Terminal.Width()))
	}
	headings, groups := groupsOf(c)
	for _, h := range headings {
		title := h
		if len(headings) == 1 {
			title = "Flags"
		}
		fmt.Fprintf(&b, "\n%s:\n%s", title, optional(groups[h].FlagUsagesWrapped(wide)))
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// groupsOf sorts the flags of a command by heading, in the order in which they were added.
func groupsOf(c *cobra.Command) (headings []string, groups map[string]*pflag.FlagSet) {
	groups = map[string]*pflag.FlagSet{}
	add := func(f *pflag.Flag) {
		h := otherFlags
		if g := f.Annotations[command.GroupKey]; len(g) > 0 {
			h = g[0]
		}
		if groups[h] == nil {
			headings, groups[h] = append(headings, h), command.NewFlags()
		}
		groups[h].AddFlag(f)
	}
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	if i := slices.Index(headings, otherFlags); i >= 0 {
		headings = append(slices.Delete(headings, i, i+1), otherFlags)
	}
	return headings, groups
}

// optional writes a value that may be left out the way people do.
func optional(usages string) string {
	from := fmt.Sprintf("ID[=%q]", run.Newest)
	return strings.ReplaceAll(usages, from, term.Pad("[ID]", len(from)))
}
