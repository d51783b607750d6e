package command

import (
	"github.com/spf13/pflag"
)

// GroupKey marks a flag with the heading under which the help lists it.
const GroupKey = "group"

// Grouped adds flags to fs under a heading of the help.
func Grouped(fs *pflag.FlagSet, heading string, bind func(*pflag.FlagSet)) {
	g := NewFlags()
	bind(g)
	g.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{GroupKey: {heading}} })
	fs.AddFlagSet(g)
}

// NewFlags returns an empty set of flags that keeps their order for the help.
func NewFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	return fs
}

// HelpWidth is the maximum width of a help text.
const HelpWidth = 100

// LimitFlag bounds a list.
func LimitFlag(fs *pflag.FlagSet, n int) *int {
	return fs.Int("limit", n, "list at most `N`; 0 is all")
}

// Stray refuses flags that do not apply.
func Stray(fs *pflag.FlagSet, fix, where string, names ...string) error {
	for _, n := range names {
		if fs.Changed(n) {
			return BadUsage(fix, "--%s is for %s", n, where)
		}
	}
	return nil
}

// YesFlag adds the flag that confirms a permanent change.
func YesFlag(fs *pflag.FlagSet) *bool {
	return fs.Bool("yes", false, "do not ask for confirmation")
}
