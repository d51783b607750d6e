package engine

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// describe makes steps of the text of a chain that is not registered, by the
// engine's options, and checks them as those of registered ones are.
func (e *Engine) describe(text []byte) ([]weir.Step, error) {
	if e.opts.Describe == nil {
		return nil, errors.New("chains that are not registered cannot be run: Options.Describe is not set")
	}
	steps, err := e.opts.Describe(text)
	if err != nil {
		return nil, err
	}
	var bad weir.InputError
	for i := range steps {
		if err := e.readyStep(&steps[i], fmt.Sprintf("steps[%d]", i), &bad); err != nil {
			return nil, err
		}
	}
	checkChain("described", steps, &bad)
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	for i := range steps {
		e.learn(&steps[i])
		steps[i] = e.limited(steps[i])
	}
	return steps, nil
}

// described is describe for the partitions' machines: nil, and the bulk action
// waits with that reason, if the steps cannot be made here.
func (e *Engine) described(text []byte) []weir.Step {
	steps, err := e.describe(text)
	if err != nil {
		return nil // waiting_on says so
	}
	return steps
}

// stepsOf finds the steps of a bulk action, or nil.
func (e *Engine) stepsOf(c *partition.Created) []weir.Step {
	if c.Text != nil {
		steps, _ := e.describe(c.Text) // its partition's owner logs it
		return steps
	}
	return e.steps(c.Chain)
}
