package engine

import (
	"cmp"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/report"
)

// NoItemsToRetry returns the error that says why no item of a bulk action can be
// retried: none ended in the state that was asked for, or none of those was chosen.
func NoItemsToRetry(id weir.BulkID, steps []weir.StepCounts, state report.State) error {
	state = cmp.Or(state, report.StateFailed)
	var failed, cancelled int64
	for i := range steps {
		failed += steps[i].Failed
		cancelled += steps[i].Cancelled
	}
	e := &weir.FieldError{Code: "no_items", Fix: "see its report for how its items ended"}
	switch {
	case state == report.StateFailed && failed > 0 || state == report.StateCancelled && cancelled > 0:
		e.Problem = fmt.Sprintf("no %s item of %s matches", state, id)
	case state == report.StateCancelled:
		e.Problem = fmt.Sprintf("no item of %s was cancelled", id)
		if failed > 0 {
			e.Problem += fmt.Sprintf("; %d failed", failed)
			e.Fix = "leave the state out: failed items are retried then"
		}
	default:
		e.Problem = fmt.Sprintf("no item of %s failed", id)
		if cancelled > 0 {
			e.Problem += fmt.Sprintf("; %d were cancelled", cancelled)
			e.Fix = `retry the cancelled ones: --state cancelled, or "state": "cancelled" in the API`
		}
	}
	return e
}
