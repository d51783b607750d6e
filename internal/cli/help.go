package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupKey marks a flag with the heading under which the help lists it.
const groupKey = "group"

// otherFlags is the heading of flags without one.
const otherFlags = "Other"

// grouped adds flags to fs under a heading of the help.
func grouped(fs *pflag.FlagSet, heading string, bind func(*pflag.FlagSet)) {
	g := newFlags()
	bind(g)
	g.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupKey: {heading}} })
	fs.AddFlagSet(g)
}

func newFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	return fs
}

// helpWidth is the maximum width of a help text.
const helpWidth = 100

// usage prints how a command is called: examples first, then its flags under their headings.
func usage(env *Env, c *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.ReplaceAll(c.Example, "weir ", env.Program+" "))
	}
	wide := helpWidth
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
		if g := f.Annotations[groupKey]; len(g) > 0 {
			h = g[0]
		}
		if groups[h] == nil {
			headings, groups[h] = append(headings, h), newFlags()
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
	from := fmt.Sprintf("ID[=%q]", newest)
	return strings.ReplaceAll(usages, from, pad("[ID]", len(from)))
}
