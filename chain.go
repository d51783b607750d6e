package weir

import (
	"encoding/json"
	"fmt"
)

// MaxSteps is the most steps in a chain.
const MaxSteps = 16

// Work describes what a bulk action does to each of its items, which are of type In: it
// is an [Action], or a [Chain] of several.
type Work[In any] interface {
	Definer
	takes(In)
}

// Definer is an [Action] or a [Chain] of any type. Engines register them.
type Definer interface{ Definition() Definition }

// Definition describes an action or a chain without its types.
type Definition struct {
	// Name identifies the chain. Stored bulk actions find their chain by it after a restart.
	Name  string
	Steps []Step
	// Text describes the steps of a chain that is stored with its bulk actions and
	// need not be registered. Default: none, the chain is registered.
	Text json.RawMessage
}

// Chain holds the steps of a bulk action, in order. In is the type of its items, Out
// the type of its last step's output.
type Chain[In, Out any] struct {
	name  string
	steps []Step
}

// Start makes a chain of one action, named after it.
func Start[In, Out any](a Action[In, Out]) Chain[In, Out] {
	return Chain[In, Out]{name: a.Name, steps: []Step{a.step(nil)}}
}

// Then adds an action. input makes what it takes of the item and of what the
// step before answered; only items that succeeded there go on.
func Then[In, Mid, Next, Out any](c Chain[In, Mid], a Action[Next, Out], input func(Item[In], Mid) Next) Chain[In, Out] {
	first := ofData[In]()
	decode := func(it *TaskItem) (next Next, err error) {
		in, err := first(it)
		if err != nil {
			return next, err
		}
		var mid Mid
		if len(it.Previous) > 0 {
			if err := json.Unmarshal(it.Previous, &mid); err != nil {
				return next, fmt.Errorf("output of the step before is not a %T: %w", mid, err)
			}
		}
		return input(Item[In]{it.ID, in}, mid), nil
	}
	steps := append(c.steps[:len(c.steps):len(c.steps)], a.step(decode))
	return Chain[In, Out]{name: c.name + "+" + a.Name, steps: steps}
}

// Raw makes a chain of steps as they are: each takes the item's own document
// and sees what the step before answered.
func Raw(name string, steps ...Step) Chain[json.RawMessage, json.RawMessage] {
	return Chain[json.RawMessage, json.RawMessage]{name: name, steps: steps}
}

// RawStep is an action as a step of [Raw].
func RawStep[Out any](a Action[json.RawMessage, Out]) Step { return a.step(nil) }

// Named gives the chain another name. Stored bulk actions find their chain
// again by its name after a restart.
func (c Chain[In, Out]) Named(name string) Chain[In, Out] { c.name = name; return c }

// Name identifies the chain.
func (c Chain[In, Out]) Name() string { return c.name }

// Steps returns the steps without their types.
func (c Chain[In, Out]) Steps() []Step { return c.steps }

// Definition describes the chain without its types.
func (c Chain[In, Out]) Definition() Definition { return Definition{Name: c.name, Steps: c.steps} }

func (Chain[In, Out]) takes(In) {}
