package operate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/core/scale"
)

func scalingCommand() command.Command {
	return command.Command{
		Use: "scaling", Short: "show or change the scaling settings",
		Long: `Prints the scaling settings of all nodes. With flags it changes them first. A setting that is not set has the default
of each engine.`,
		Example: `  weir scaling --redis redis://host:6379
  weir scaling --pause 'looking into slow calls' --redis redis://host:6379
  weir scaling --timetable 'send-message=Fri 20:00 64' --redis redis://host:6379`,
		Args: command.Args(0, 0, ""),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &scalingOptions{flags: fs}
			o.bind(fs)
			return func(ctx context.Context, env *command.Env, _ []string) error {
				if err := o.check(); err != nil {
					return err
				}
				return o.place.there(ctx, env, o.format, o.remoteScaling, o.run)
			}
		},
	}
}

// scalingOptions are the flags of weir scaling.
type scalingOptions struct {
	flags          *pflag.FlagSet
	place          place
	format         command.Format
	pause          string
	resume         bool
	policy, shadow string
	least, most    int
	drain          drainTime
	timetables     []string
}

// unset takes a setting back.
const unset = "none"

// drainTime is a time span, or none.
type drainTime struct{ config.Span }

// Set implements pflag.Value.
func (d *drainTime) Set(s string) error {
	if s == unset {
		d.Span = 0
		return nil
	}
	return d.Span.Set(s)
}

func (o *scalingOptions) bind(fs *pflag.FlagSet) {
	command.Grouped(fs, "What to change", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.pause, "pause", "", "keep the current workers of all lanes, for this `REASON`")
		fs.BoolVar(&o.resume, "resume", false, "let workers follow the load again")
		fs.StringVar(&o.policy, "policy", "", "`NAME` of the scaling policy, off, or none for the default")
		fs.StringVar(&o.shadow, "shadow", "", "`NAME` of a policy whose decisions are recorded but not applied, or none")
		fs.IntVar(&o.least, "min", 0, "minimum workers of a lane; `N` = 0 is the default")
		fs.IntVar(&o.most, "max", 0, "maximum workers of a lane; `N` = 0 is the default")
		fs.Var(&o.drain, "drain", "target time to work off a backlog, as in 30s, or none for the default")
		fs.StringArrayVar(&o.timetables, "timetable", nil,
			"`RESOURCE=WHEN` to keep workers ready, as in 'send-message=Fri 20:00 64'; empty after the = removes the timetable")
	})
	o.format.BindTableOrJSON(fs)
	o.place.bind(fs)
}

// check finds what cannot be meant before anything is opened.
func (o *scalingOptions) check() error {
	switch {
	case o.resume && o.flags.Changed("pause"):
		return command.BadUsage("keep one of them", "--pause and --resume do not go together")
	case o.flags.Changed("pause") && strings.TrimSpace(o.pause) == "":
		return command.BadUsage("write why, as in --pause 'looking into slow calls'", "--pause: the reason is missing")
	case o.least < 0:
		return command.BadUsage("write 1 or more, or 0 for the default", "--min: %d is negative", o.least)
	case o.most < 0:
		return command.BadUsage("write 1 or more, or 0 for the default", "--max: %d is negative", o.most)
	}
	if err := wantPolicy("--policy", o.policy); err != nil {
		return err
	}
	if err := wantPolicy("--shadow", o.shadow); err != nil {
		return err
	}
	for _, t := range o.timetables {
		if resource, _, found := strings.Cut(t, "="); !found || resource == "" {
			return command.BadUsage("write the resource, = and when, as in 'send-message=Fri 20:00 64'",
				"--timetable: %q has no resource", t)
		}
	}
	return nil
}

// wantPolicy refuses a name that no policy has.
func wantPolicy(flag, name string) error {
	names := append(scale.Names(), weir.PolicyOff, unset)
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	fix := "write one of " + strings.Join(names, ", ")
	if meant := near.Word(name, names); meant != "" {
		fix = fmt.Sprintf("did you mean %s? %s", meant, fix)
	}
	return command.BadUsage(fix, "%s: unknown policy %q", flag, name)
}

// changes says whether there is anything to change.
func (o *scalingOptions) changes() bool {
	return slices.ContainsFunc([]string{"pause", "resume", "policy", "shadow", "min", "max", "drain", "timetable"}, o.flags.Changed)
}

// change puts the flags over settings. It may be called again for newer ones.
func (o *scalingOptions) change(s *weir.Scaling) {
	set := func(flag string, where *string, value string) {
		if o.flags.Changed(flag) {
			*where = value
		}
	}
	set("pause", &s.Paused, strings.TrimSpace(o.pause))
	set("resume", &s.Paused, "")
	set("policy", &s.Policy, strings.TrimPrefix(o.policy, unset))
	set("shadow", &s.Shadow, strings.TrimPrefix(o.shadow, unset))
	if o.flags.Changed("min") {
		s.Min = o.least
	}
	if o.flags.Changed("max") {
		s.Max = o.most
	}
	if o.flags.Changed("drain") {
		s.Drain = time.Duration(o.drain.Span)
	}
	tables := maps.Clone(s.Timetables)
	for _, t := range o.timetables {
		resource, when, _ := strings.Cut(t, "=")
		if when = strings.TrimSpace(when); when == "" {
			delete(tables, resource)
			continue
		}
		if tables == nil {
			tables = map[string]string{}
		}
		tables[resource] = when
	}
	s.Timetables = tables
}

// run changes what is to be changed, and shows what holds then.
func (o *scalingOptions) run(ctx context.Context, d *desk) error {
	s, err := d.engine.Settings(ctx)
	if err != nil {
		return err
	}
	if o.changes() {
		o.change(&s)
		for _, t := range o.timetables {
			resource, when, _ := strings.Cut(t, "=")
			if err := d.wantResource(ctx, resource); err != nil && when != "" {
				return err
			}
		}
		if err := coord.Validate(&s); err != nil {
			return command.BadUsage("nothing was changed", "%v", err)
		}
		if err := d.engine.SetScaling(ctx, o.change); err != nil {
			return err
		}
		if s, err = d.engine.Settings(ctx); err != nil {
			return err
		}
	}
	return o.show(d.env, &s, &s)
}

// show prints settings: whole for programs, the same for people.
func (o *scalingOptions) show(env *command.Env, whole any, s *weir.Scaling) error {
	if o.format == command.JSON {
		return command.PrintJSON(env, whole)
	}
	p, _ := command.Outward(env)
	for _, l := range scalingLines(p, s) {
		fmt.Fprintln(env.Stdout, l)
	}
	return nil
}

// scalingLines shows settings, one to a line.
func scalingLines(p term.Paint, s *weir.Scaling) (lines []string) {
	name := func(what, text string) { lines = append(lines, "  "+p.Dim(term.Pad(what, 12))+text) }
	const theirs = "default"
	name("policy", cmp.Or(s.Policy, theirs))
	name("shadow", cmp.Or(s.Shadow, theirs))
	name("min", cmp.Or(positive(s.Min), theirs))
	name("max", cmp.Or(positive(s.Max), theirs))
	drain := theirs
	if s.Drain > 0 {
		drain = term.Span(s.Drain)
	}
	name("drain", drain)
	paused := "no"
	if s.Paused != "" {
		paused = p.Yellow("yes: " + s.Paused)
	}
	name("paused", paused)
	for _, r := range slices.Sorted(maps.Keys(s.Timetables)) {
		name("timetable", p.Bold(r)+"  "+s.Timetables[r])
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.Pins), compareLanes) {
		pin := s.Pins[id]
		name("pin", fmt.Sprintf("%s  %s until %s: %s", p.Bold(id.String()), term.Plural(int64(pin.Workers), "worker", "workers"),
			term.ClockTime(pin.Until), pin.Why))
	}
	for _, r := range slices.Sorted(maps.Keys(s.Circuits)) {
		c := s.Circuits[r]
		state := "closed"
		if c.Open {
			state = p.Red("open")
		}
		name("circuit", fmt.Sprintf("%s  %s until %s: %s", p.Bold(r), state, term.ClockTime(c.Until), c.Why))
	}
	return lines
}

// positive writes a number above 0, and nothing else.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return term.Number(n)
}
