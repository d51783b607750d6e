// Package catalog knows the chains that an engine can run: those that were registered, and those
// that come with a bulk action as text.
package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/engine/limits"
)

// Catalog holds the chains of an engine. It is safe for use from several goroutines.
type Catalog struct {
	limits    *limits.Control
	describe  func(text []byte) ([]weir.Step, error)
	transport http.RoundTripper // of HTTP actions
	closeIdle func()            // its connections, unless it is the caller's
	answers   *execute.Memory   // what the answers of HTTP actions take of it
	// Known is told of every action that is registered.
	Known func(actions ...string)

	mu     sync.Mutex
	chains map[string][]weir.Step // registered, by name
	sealed bool
}

// New makes a catalog without chains. describe makes steps of the text of a chain; nil: only
// registered ones are run. transport is that of HTTP actions; nil: one of its own.
func New(l *limits.Control, describe func(text []byte) ([]weir.Step, error), transport http.RoundTripper) *Catalog {
	c := &Catalog{limits: l, describe: describe, transport: transport, closeIdle: func() {}, answers: execute.NewMemory(),
		chains: map[string][]weir.Step{}}
	if transport == nil {
		own := execute.NewTransport()
		c.transport, c.closeIdle = own, own.CloseIdleConnections
	}
	return c
}

// DescribeBy sets what makes steps of the text of a chain. Call it before the engine runs.
func (c *Catalog) DescribeBy(describe func(text []byte) ([]weir.Step, error)) { c.describe = describe }

// Actions lets no more chains be registered, and returns the registered ones of one step, by name: those are actions.
func (c *Catalog) Actions() (all []weir.Step) {
	c.Seal()
	for _, name := range slices.Sorted(maps.Keys(c.chains)) {
		if steps := c.chains[name]; len(steps) == 1 && steps[0].Name == name {
			all = append(all, steps[0])
		}
	}
	return all
}

// Seal lets no more chains be registered.
func (c *Catalog) Seal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = true
}

// Close closes the idle connections of HTTP actions.
func (c *Catalog) Close() { c.closeIdle() }

// Register adds a chain.
func (c *Catalog) Register(name string, steps []weir.Step) error {
	steps = slices.Clone(steps)
	var bad weir.InputError
	for i := range steps {
		if err := c.readyStep(&steps[i], fmt.Sprintf("steps[%d]", i), &bad); err != nil {
			return fmt.Errorf("chain %q: %w", name, err)
		}
	}
	checkChain(name, steps, &bad)
	if err := bad.OrNil(); err != nil {
		return fmt.Errorf("chain %q: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return fmt.Errorf("chain %q: the engine has a server or was already started; register chains before Run, and before server.New", name)
	}
	if c.chains[name] != nil {
		return fmt.Errorf("chain %q: registered before; give it another name with Named", name)
	}
	if err := c.checkResources(steps); err != nil {
		return fmt.Errorf("chain %q: %w", name, err)
	}
	for i := range steps {
		c.limits.Learn(&steps[i])
		c.Known(steps[i].Name)
	}
	c.chains[name] = steps
	return nil
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)

func checkChain(name string, steps []weir.Step, bad *weir.InputError) {
	if !goodName.MatchString(name) {
		bad.Add("bad_name", "name", fmt.Sprintf("%q is not a valid name", name),
			"use letters, digits, '.', '-', '_' and '+', at most 128")
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
func (c *Catalog) readyStep(s *weir.Step, field string, bad *weir.InputError) error {
	if !goodName.MatchString(s.Name) {
		bad.Add("bad_name", field+".name", fmt.Sprintf("%q is not a valid name", s.Name),
			"use letters, digits, '.', '-' and '_', at most 128")
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
	if _, err := weir.ParsePacing(string(cmp.Or(s.Resource.Pacing, weir.PacingSmooth))); err != nil {
		bad.Add("bad_value", field+".resource.pacing", fmt.Sprintf("%q is unknown", s.Resource.Pacing),
			"use weir.PacingSmooth or weir.PacingFull, or leave it empty for weir.PacingSmooth")
	}
	if r := s.Retry; r.MaxAttempts < 1 || r.MaxAttempts > 250 || r.Base < 0 || r.Cap < r.Base {
		bad.Add("out_of_range", field+".retry", fmt.Sprintf("%+v", r), "want 1 to 250 attempts and a base of at most the cap")
	}
	if s.Endpoint != nil {
		h, err := execute.HTTP(*s, execute.HTTPOptions{Transport: c.transport, Memory: c.answers})
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
func (c *Catalog) checkResources(steps []weir.Step) error {
	for i, s := range steps {
		for _, other := range steps[:i] {
			if other.Resource.Name == s.Resource.Name && other.Resource != s.Resource {
				return fmt.Errorf("resource %q: limits %+v of step %q differ from those of step %q, %+v; use the same weir.Resource value",
					s.Resource.Name, s.Resource, s.Name, other.Name, other.Resource)
			}
		}
		for name, chain := range c.chains {
			for _, other := range chain {
				if other.Resource.Name == s.Resource.Name && other.Resource != s.Resource {
					return fmt.Errorf("resource %q: limits %+v differ from those in chain %q, %+v; use the same weir.Resource value",
						s.Resource.Name, s.Resource, name, other.Resource)
				}
			}
		}
	}
	return nil
}

// Steps returns those of a registered chain, with the limits that hold now, else nil.
func (c *Catalog) Steps(name string) []weir.Step {
	c.mu.Lock()
	steps := slices.Clone(c.chains[name])
	c.mu.Unlock()
	c.limit(steps)
	return steps
}

// limit gives steps the limits that hold now.
func (c *Catalog) limit(steps []weir.Step) {
	for i := range steps {
		steps[i].Resource = c.limits.InForce(steps[i].Resource)
	}
}

// Of returns the steps of a bulk action, or nil.
func (c *Catalog) Of(b *partition.Created) []weir.Step {
	steps, _ := c.Find(b) // its partition's owner logs it
	return steps
}

// Find returns the steps of a bulk action, or says what is wrong with its chain.
func (c *Catalog) Find(b *partition.Created) ([]weir.Step, error) {
	if b.Text != nil {
		return c.Describe(b.Text)
	}
	steps := c.Steps(b.Chain)
	if steps == nil {
		return nil, &weir.InputError{Fields: []*weir.FieldError{{
			Code: "unknown_action", Field: "chain", Problem: fmt.Sprintf("%q is not registered", b.Chain),
			Fix: "register it with Handle before Run; known: " + c.names(),
		}}}
	}
	return steps, nil
}

// names lists the registered chains, for errors.
func (c *Catalog) names() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(c.chains)), ", ")
}
