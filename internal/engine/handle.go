package engine

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/execute"
)

// Handle registers actions and chains, so that bulk actions of them can be submitted and
// run. Register everything before Run: a stored bulk action whose chain is not known waits, with that reason.
func (e *Engine) Handle(works ...weir.Definer) error {
	for _, w := range works {
		d := w.Definition()
		if err := e.register(d.Name, d.Steps); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) register(name string, steps []weir.Step) error {
	steps = slices.Clone(steps)
	var bad weir.InputError
	for i := range steps {
		if err := e.readyStep(&steps[i], fmt.Sprintf("steps[%d]", i), &bad); err != nil {
			return fmt.Errorf("chain %q: %w", name, err)
		}
	}
	checkChain(name, steps, &bad)
	if err := bad.OrNil(); err != nil {
		return fmt.Errorf("chain %q: %w", name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		return fmt.Errorf("chain %q: the engine runs already; register before Run", name)
	}
	if e.chains[name] != nil {
		return fmt.Errorf("chain %q: registered before; give it another name with Named", name)
	}
	if err := e.checkResources(steps); err != nil {
		return fmt.Errorf("chain %q: %w", name, err)
	}
	for i := range steps {
		e.learn(&steps[i])
		e.KnowActions(steps[i].Name)
	}
	e.chains[name] = steps
	return nil
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)

func checkChain(name string, steps []weir.Step, bad *weir.InputError) {
	if !goodName.MatchString(name) {
		bad.Add("bad_name", "name", fmt.Sprintf("%q is not a name", name), "use letters, digits, '.', '-', '_' and '+', at most 128")
	}
	if len(steps) == 0 {
		bad.Add("no_steps", "steps", "there are none", "start a chain with weir.Start")
	}
	if len(steps) > weir.MaxSteps {
		bad.Add("too_many_steps", "steps", fmt.Sprintf("%d are more than %d", len(steps), weir.MaxSteps), "split the chain")
	}
	for i := range steps {
		if slices.ContainsFunc(steps[:i], func(s weir.Step) bool { return s.Name == steps[i].Name }) {
			bad.Add("duplicate_step", fmt.Sprintf("steps[%d].name", i), fmt.Sprintf("%q is there twice", steps[i].Name), "give each step its own name")
		}
	}
}

// readyStep checks one step and makes its handler: over HTTP if it has an endpoint.
func (e *Engine) readyStep(s *weir.Step, field string, bad *weir.InputError) error {
	if !goodName.MatchString(s.Name) {
		bad.Add("bad_name", field+".name", fmt.Sprintf("%q is not a name", s.Name), "use letters, digits, '.', '-' and '_', at most 128")
	}
	if s.BatchSize < 1 || s.BatchSize > 1000 {
		bad.Add("out_of_range", field+".batch_size", fmt.Sprintf("%d is not between 1 and 1000", s.BatchSize), "leave it 0 for 100")
	}
	if s.Timeout <= 0 || s.Timeout > 24*time.Hour {
		bad.Add("out_of_range", field+".timeout", fmt.Sprintf("%v is not between 1ns and 24h", s.Timeout), "leave it 0 for 30s")
	}
	if r := s.Resource; !(r.Rate >= 0 && r.Rate <= 1e9) || r.Concurrency < 0 { // no number is above 1e9 or below 0, nor NaN
		bad.Add("out_of_range", field+".resource", fmt.Sprintf("rate %v, concurrency %d", r.Rate, r.Concurrency), "want a rate of at most 1e9 a second and a concurrency of at least 0; 0 is unlimited")
	}
	if _, err := weir.ParsePacing(string(cmp.Or(s.Resource.Pacing, weir.Smooth))); err != nil {
		bad.Add("bad_value", field+".resource.pacing", fmt.Sprintf("%q is unknown", s.Resource.Pacing), "use weir.Smooth or weir.Full, or leave it empty for weir.Smooth")
	}
	if r := s.Retry; r.MaxAttempts < 1 || r.MaxAttempts > 250 || r.Base < 0 || r.Cap < r.Base {
		bad.Add("out_of_range", field+".retry", fmt.Sprintf("%+v", r), "want 1 to 250 attempts and a base of at most the cap")
	}
	if s.Endpoint != nil {
		h, err := execute.HTTP(*s, execute.HTTPOptions{Transport: e.opts.Transport, Memory: e.answers})
		if err != nil {
			return err
		}
		s.Handle = h
	}
	if s.Handle == nil {
		bad.Add("no_handler", field+".handle", "is not set", "give the action a Handle function or an HTTP endpoint")
	}
	return nil
}

// checkResources refuses two ideas of one resource's limits.
func (e *Engine) checkResources(steps []weir.Step) error {
	for i, s := range steps {
		for _, other := range steps[:i] {
			if other.Resource.Name == s.Resource.Name && other.Resource != s.Resource {
				return fmt.Errorf("resource %q: limits %+v of step %q differ from those of step %q, %+v; use the same weir.Resource value",
					s.Resource.Name, s.Resource, s.Name, other.Name, other.Resource)
			}
		}
		for name, c := range e.chains {
			for _, other := range c {
				if other.Resource.Name == s.Resource.Name && other.Resource != s.Resource {
					return fmt.Errorf("resource %q: limits %+v differ from those in chain %q, %+v; use the same weir.Resource value",
						s.Resource.Name, s.Resource, name, other.Resource)
				}
			}
		}
	}
	return nil
}

// steps finds a chain for the partitions' machines.
func (e *Engine) steps(name string) []weir.Step {
	e.mu.Lock()
	steps := slices.Clone(e.chains[name])
	e.mu.Unlock()
	for i := range steps {
		steps[i] = e.limited(steps[i])
	}
	return steps
}

// known lists the registered chains, for errors.
func (e *Engine) known() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var names []string
	for n := range e.chains {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// loadPrevious reads what the step before answered from the store, where a
// restart or a retry has left the machine without it.
func (e *Engine) loadPrevious(ctx context.Context, part int, t *partition.Task, items []weir.TaskItem) error {
	if err := e.carried(ctx, part, t, items); err != nil {
		return err
	}
	at := make(map[uint16]*weir.TaskItem, len(items))
	for i := range items {
		if items[i].Previous == nil {
			at[t.Items[i]] = &items[i]
		}
	}
	err := partition.ReadResults(rows{ctx, e.store, part}, e.codec, t.Bulk, t.Block, func(r block.Result) error {
		if it := at[r.Item]; it != nil && r.Kind == block.Output && int(r.Step) == t.StepNo-1 {
			it.Previous = slices.Clone(r.Output)
			delete(at, r.Item)
		}
		return nil
	})
	if err != nil || len(at) == 0 {
		return err
	}
	return e.whole(ctx, part)
}

// outputs reads what earlier steps answered for the items of a task.
func (e *Engine) outputs(ctx context.Context, part int, t *partition.Task) (func(int, string) []byte, error) {
	type place struct {
		item uint16
		step uint8
	}
	found := map[place][]byte{}
	err := partition.ReadResults(rows{ctx, e.store, part}, e.codec, t.Bulk, t.Block, func(r block.Result) error {
		if _, asked := slices.BinarySearch(t.Items, r.Item); asked && r.Kind == block.Output && int(r.Step) < t.StepNo {
			found[place{r.Item, r.Step}] = slices.Clone(r.Output)
		}
		return nil
	})
	if err == nil && len(found) < len(t.Items)*(t.StepNo-t.FirstStep) { // not every step answers
		err = e.whole(ctx, part)
	}
	if err != nil {
		return nil, err
	}
	names, items, first := t.Names, slices.Clone(t.Items), t.FirstStep
	var carried *block.Items
	if first > 0 {
		if carried, err = e.cache.open(ctx, t.Home(part), e.cache.entry(blockKey{t.Bulk, t.Block + carriedBlocks})); err != nil {
			return nil, fmt.Errorf("answers carried over: %w", err)
		}
	}
	return func(i int, step string) []byte {
		no := slices.Index(names, step)
		if no < first && no >= 0 {
			return block.CarriedAnswer(carried.Data(int(items[i])), no, first)
		}
		return found[place{items[i], uint8(no)}]
	}, nil
}
