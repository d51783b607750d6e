// Package simulate runs described systems in virtual time, and asks servers how their bulk actions would go.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/model"
)

// Command returns weir simulate.
func Command() command.Command {
	return command.Command{
		Use: "simulate SCENARIO|FILE|ID", Short: "simulate when work would finish with other limits, workers or load",
		Long: `Simulates a system with the real scheduler, thousands of times faster than real time. Shows when each bulk action
would finish, how much of each limit it would use, and what it would wait for. No action is called and nothing is
stored. Randomness comes from a seed: the same seed gives the same result.

The system is a built-in scenario (--list) or a file of your own. To write one, start from a scenario:
  weir simulate flood --show > mine.yaml

--set changes one value of a resource (rate, concurrency, pacing, timeout, attempts, flow, latency, p99, failures,
retries, rejects, capacity, overload) or of a bulk action (items, arrivals, at, until, tier, priority, deadline,
batch), or the weight of a tenant. --compare shows the original system beside the changed one.

With the id of a bulk action, its server simulates that bulk action as if it started now, beside all other work there.
Then --set changes rate, concurrency or pacing of a resource that it uses, or the weight of a tenant; --workers is the
maximum of each lane; of the other flags only --server and -o table or json apply.`,
		Example: `  weir simulate flood
  weir simulate flood --set send-message.rate=20000/s --compare
  weir simulate incident --policy depth --compare
  weir simulate mine.yaml --workers 8..64 --load 2x --runs 20
  weir simulate step -o csv > step.csv
  weir simulate ba_01k9x… --set send-message.rate=450/s --set growth.weight=3`,
		Args: command.Args(0, 1, "SCENARIO, FILE or ID"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			o := &simulateOptions{output: "table"}
			o.bind(fs)
			o.remote.Bind(fs)
			return func(ctx context.Context, env *command.Env, args []string) error {
				if len(args) == 1 && strings.HasPrefix(args[0], bulkPrefix) {
					return o.atServer(ctx, env, fs, args[0])
				}
				if err := command.Stray(fs, "leave it out, or name a bulk action of the server by its id",
					"bulk actions of a server", "server"); err != nil {
					return err
				}
				return o.run(ctx, env, args)
			}
		},
	}
}

// mostRuns bounds --runs.
const mostRuns = 1000

// simulateOptions are the flags of weir simulate.
type simulateOptions struct {
	set     []string
	workers string
	policy  string
	load    string
	seed    uint64
	compare bool
	runs    int
	output  string
	list    bool
	show    bool
	remote  link.Server
}

func (o *simulateOptions) bind(fs *pflag.FlagSet) {
	command.Grouped(fs, "What if", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&o.set, "set", nil, "change one value: `NAME.FIELD=VALUE`, as in send-message.rate=450/s; repeatable")
		fs.StringVar(&o.workers, "workers", "", "workers of each resource, as in `8..64` (8 at first, at most 64) or 8 (always)")
		fs.StringVar(&o.policy, "policy", "", "scaling policy, the `RULE` for the number of workers: "+strings.Join(scale.Names(), ", "))
		fs.StringVar(&o.load, "load", "", "multiply the load, as in `2x`")
		fs.Uint64Var(&o.seed, "seed", 0, "random seed, `N` > 0")
		fs.BoolVar(&o.compare, "compare", false, "show the original system beside the changed one")
		fs.IntVar(&o.runs, "runs", 0, "simulate `N` seeds; shows when half and when 90% of the runs are done")
	})
	command.Grouped(fs, "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&o.output, "output", "o", "table", "`FORMAT`: table, json, or csv (every second of every resource)")
		fs.BoolVar(&o.list, "list", false, "list the built-in scenarios")
		fs.BoolVar(&o.show, "show", false, "print the system as a file, changes included, without running it")
	})
}

func (o *simulateOptions) run(ctx context.Context, env *command.Env, args []string) error {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	if o.list {
		return listScenarios(env)
	}
	if len(args) == 0 {
		return command.BadUsage("one of "+scenarioNames()+", or a file; --list tells what each shows", "SCENARIO or FILE is missing")
	}
	if o.runs < 0 || o.runs > mostRuns {
		return command.BadUsage("choose a smaller number; 20 is usually enough", "--runs: %d is not between 1 and %d", o.runs, mostRuns)
	}
	if o.output != "table" && o.output != "json" && o.output != "csv" {
		return command.BadUsage("write one of table, json, csv", "--output: %q is not known", o.output)
	}
	given, err := loadWorld(env, args[0])
	if err != nil {
		return err
	}
	if o.seed != 0 {
		given.Seed = o.seed
	}
	changed, what, err := o.change(given)
	switch {
	case err != nil:
		return err
	case o.show:
		return showWorld(env, changed)
	case o.runs > 0 && (o.compare || o.output == "csv"):
		return command.BadUsage("leave one of them out", "--runs: goes neither with --compare nor with -o csv")
	case o.runs > 0:
		return o.foresee(ctx, env, changed, what)
	case !o.compare:
		return o.single(ctx, env, changed, what)
	case len(what) == 0:
		return command.BadUsage("add --set, --workers, --policy or --load", "--compare: nothing is changed")
	}
	return o.both(ctx, env, given, changed, what)
}

// change applies the what-if flags, and says in words what they change.
func (o *simulateOptions) change(w model.World) (changed model.World, what []string, err error) {
	for _, s := range o.set {
		path, value, found := strings.Cut(s, "=")
		if !found {
			return w, nil, command.BadUsage("write it as in --set send-message.rate=450/s", "--set: %q has no value", s)
		}
		if w, err = w.With(path, value); err != nil {
			return w, nil, setError(err)
		}
		what = append(what, s)
	}
	if o.workers != "" {
		if w.Workers, err = parseWorkers(o.workers, w.Workers); err != nil {
			return w, nil, err
		}
		what = append(what, "workers "+o.workers)
	}
	if o.policy != "" {
		if _, err := scale.ByName(o.policy); err != nil {
			return w, nil, command.BadUsage("write one of "+strings.Join(scale.Names(), ", "), "--policy: %q is not known", o.policy)
		}
		w.Workers.Policy = o.policy
		what = append(what, "policy "+o.policy)
	}
	if o.load != "" {
		factor, err := parseFactor(o.load)
		if err != nil {
			return w, nil, err
		}
		w = w.Loaded(factor)
		what = append(what, o.load+" the load")
	}
	return w, what, nil
}

// setError names the flag in an error about what --set was given.
func setError(err error) error {
	var f *weir.FieldError
	if !errors.As(err, &f) {
		return err
	}
	return command.BadUsage(f.Fix, "--set %s: %s", f.Field, f.Problem)
}

// parseWorkers reads 8..64 or 8.
func parseWorkers(text string, w model.Workers) (model.Workers, error) {
	low, high, ranged := strings.Cut(text, "..")
	start, err1 := strconv.Atoi(low)
	most, err2 := start, error(nil)
	if ranged {
		most, err2 = strconv.Atoi(high)
	}
	if err1 != nil || err2 != nil || start < 1 || most < start {
		return w, command.BadUsage("write 8..64 for 8 at first and at most 64, or 8 for always 8",
			"--workers: %q is neither a number nor a range of workers", text)
	}
	w.Start, w.Max, w.Min = start, most, min(max(w.Min, 1), start)
	if !ranged {
		w.Min = start
	}
	return w, nil
}

// parseFactor reads 2x.
func parseFactor(text string) (float64, error) {
	number, found := strings.CutSuffix(text, "x")
	f, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(f > 0 && f <= 1000) {
		return 0, command.BadUsage("write it as in 2x or 0.5x, at most 1000x", "--load: %q is not a multiple of the load", text)
	}
	return f, nil
}

func scenarioNames() string {
	var names []string
	for _, w := range model.Worlds() {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

func listScenarios(env *command.Env) error {
	for _, w := range model.Worlds() {
		fmt.Fprintf(env.Stdout, "%s  %s\n", term.Pad(w.Name, 10), w.About)
	}
	return nil
}

// showWorld prints a system as a file that loadWorld reads.
func showWorld(env *command.Env, w model.World) error {
	if err := w.Validate(); err != nil {
		return err
	}
	text, err := yaml.Marshal(w)
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(text)
	return err
}
