package engine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
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
		return fmt.Errorf("chain %q: the engine was already started; register before Run", name)
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
		bad.Add("bad_name", "name", fmt.Sprintf("%q is not a valid name", name), "use letters, digits, '.', '-', '_' and '+', at most 128")
	}
	if len(steps) == 0 {
		bad.Add("no_steps", "steps", "is empty", "start a chain with weir.Start")
	}
	if len(steps) > weir.MaxSteps {
		bad.Add("too_many_steps", "steps", fmt.Sprintf("%d are more than %d", len(steps), weir.MaxSteps), "split the chain")
	}
	for i := range steps {
		if slices.ContainsFunc(steps[:i], func(s weir.Step) bool { return s.Name == steps[i].Name }) {
			bad.Add("duplicate_step", fmt.Sprintf("steps[%d].name", i),
				fmt.Sprintf("%q is the name of two steps", steps[i].Name), "give each step its own name")
		}
	}
}

// readyStep checks one step and makes its handler: over HTTP if it has an endpoint.
func (e *Engine) readyStep(s *weir.Step, field string, bad *weir.InputError) error {
	if !goodName.MatchString(s.Name) {
		bad.Add("bad_name", field+".name", fmt.Sprintf("%q is not a valid name", s.Name), "use letters, digits, '.', '-' and '_', at most 128")
	}
	if s.BatchSize < 1 || s.BatchSize > 1000 {
		bad.Add("out_of_range", field+".batch_size", fmt.Sprintf("%d is not between 1 and 1000", s.BatchSize), "leave it 0 for 100")
	}
	if s.Timeout <= 0 || s.Timeout > 24*time.Hour {
		bad.Add("out_of_range", field+".timeout", fmt.Sprintf("%v is not between 1ns and 24h", s.Timeout), "leave it 0 for 30s")
	}
	if r := s.Resource; !(r.Rate >= 0 && r.Rate <= 1e9) || r.Concurrency < 0 { // also refuses NaN
		bad.Add("out_of_range", field+".resource", fmt.Sprintf("rate %v, concurrency %d", r.Rate, r.Concurrency),
			"want a rate of at most 1e9 a second and a concurrency of at least 0; 0 is unlimited")
	}
	if _, err := weir.ParsePacing(string(cmp.Or(s.Resource.Pacing, weir.Smooth))); err != nil {
		bad.Add("bad_value", field+".resource.pacing", fmt.Sprintf("%q is unknown", s.Resource.Pacing),
			"use weir.Smooth or weir.Full, or leave it empty for weir.Smooth")
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

// checkResources refuses different limits for one resource.
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
