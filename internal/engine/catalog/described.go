package catalog

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir"
)

// Describe makes steps of the text of a chain that is not registered, by the
// engine's options, and checks them as those of registered ones are.
func (c *Catalog) Describe(text []byte) ([]weir.Step, error) {
	if c.describe == nil {
		return nil, errors.New("chains that are not registered cannot be run: Options.Describe is not set")
	}
	steps, err := c.describe(text)
	if err != nil {
		return nil, err
	}
	var bad weir.InputError
	for i := range steps {
		if err := c.readyStep(&steps[i], fmt.Sprintf("steps[%d]", i), &bad); err != nil {
			return nil, err
		}
	}
	checkChain("described", steps, &bad)
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	for i := range steps {
		c.limits.Learn(&steps[i])
	}
	c.limit(steps)
	return steps, nil
}

// Described is [Catalog.Describe] for the partitions' machines: nil, and the bulk action
// waits with that reason, if the steps cannot be made here.
func (c *Catalog) Described(text []byte) []weir.Step {
	steps, err := c.Describe(text)
	if err != nil {
		return nil // waiting_on says so
	}
	return steps
}
