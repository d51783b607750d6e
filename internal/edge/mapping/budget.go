package mapping

import "errors"

// errSpent ends an expression that exceeds its budget.
var errSpent = errors.New("does too much work on this item; make it simpler, or the item smaller")

// run is the evaluation for one item: what its expressions may still spend.
type run struct{ left int }

// pay spends so many units.
func (r *run) pay(units int) error {
	if r.left -= units; r.left < 0 {
		return errSpent
	}
	return nil
}

// weigh pays for reading all of a value. It stops as soon as the budget is spent, since parts
// that are used many times count each time.
func (r *run) weigh(v any) error {
	switch v := v.(type) {
	case string:
		return r.pay(1 + len(v)/16)
	case []any:
		for _, x := range v {
			if err := r.weigh(x); err != nil {
				return err
			}
		}
	case []string:
		for _, x := range v {
			if err := r.pay(1 + len(x)/16); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, x := range v { // order does not reach the sum
			if err := r.pay(1 + len(k)/16); err != nil {
				return err
			}
			if err := r.weigh(x); err != nil {
				return err
			}
		}
	}
	return r.pay(1)
}
