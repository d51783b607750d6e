package result

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/words"
	"github.com/weirhq/weir/report"
)

// isUnclear reports whether the service may have done an item that is not done: it failed without a clear answer, or has
// not ended, or was cancelled, after a call without one.
func isUnclear(r *report.Row) bool {
	return r.Code == report.CodeUnclear || r.State == report.StateFailed && fault.Unclear(r.Code, r.Message)
}

// hasCode reports whether an item has the code of a filter. The code of unclear items stands for all of them, also for
// those that failed, which have the code of their failure.
func hasCode(r *report.Row, code string) bool {
	return code == "" || code == r.Code || code == report.CodeUnclear && isUnclear(r)
}

const stillUnclearMessage = "it was called without a clear answer before it was retried: the service may have done it"

// stillUnclear notes in a row of a retry that the item is as unclear as before it, if the retry did not call it.
func stillUnclear(row, before *report.Row) {
	if !isUnclear(before) || isUnclear(row) || row.LeftOut {
		return
	}
	switch {
	case row.State == report.StateDone:
	case row.State != report.StateFailed:
		row.Code, row.Message = report.CodeUnclear, stillUnclearMessage
	case fault.Uncalled(row.Code, row.Message):
		row.Message = fault.AfterUnclear + row.Message
	}
}

// addUnclear counts the items of a bulk action without a clear answer after its retries. sum is what the retries changed;
// nil: it has none. The report has the unclear items of the bulk action alone.
func addUnclear(ctx context.Context, b *engine.BulkAction, r *api.Report, sum *retriesSum) error {
	failed, exact := unclearOf(r.Errors)
	r.UnclearFailed = failed
	switch {
	case sum == nil && (exact || !r.State.Final()):
		return nil
	case sum != nil && sum.counts.Done == sum.counts.Total:
		r.Unclear, r.UnclearFailed = 0, 0
		return nil
	case sum != nil && exact && r.Unclear+failed == 0:
		if some, err := unclearRetries(ctx, b); !some || err != nil {
			return err
		}
	}
	states := []report.State{report.StateFailed, report.StateCancelled}
	if !r.State.Final() {
		states = []report.State{""}
	}
	r.Unclear, r.UnclearFailed = 0, 0
	for _, state := range states {
		if err := countUnclear(ctx, b, state, r); err != nil {
			return err
		}
	}
	return nil
}

// countUnclear adds the unclear items of a bulk action in a state, as they ended after all retries.
func countUnclear(ctx context.Context, b *engine.BulkAction, state report.State, r *api.Report) error {
	for p, err := range history(ctx, b, engine.RowOptions{State: state}, keptRetries) {
		switch {
		case err != nil:
			return err
		case !isUnclear(&p.row):
		case p.row.State == report.StateFailed:
			r.UnclearFailed++
		default:
			r.Unclear++
		}
	}
	return nil
}

// unclearOf counts the items of error groups without a clear answer. It is exact unless failures have no group of their own.
func unclearOf(groups []api.ErrorGroup) (n int64, exact bool) {
	exact = true
	for i := range groups {
		g := &groups[i]
		if g.Unclear {
			n += g.Count
		}
		exact = exact && g.Code != bulk.OtherCode
	}
	return n, exact
}

// unclearRetries reports whether a retry of a bulk action may have items without a clear answer.
func unclearRetries(ctx context.Context, b *engine.BulkAction) (bool, error) {
	made, err := b.KeptRetries(ctx)
	if err != nil {
		return false, err
	}
	for _, again := range made {
		p, err := again.Now(ctx)
		if err != nil {
			return false, err
		}
		for i := range p.Steps {
			if p.Steps[i].Unclear > 0 {
				return true, nil
			}
		}
		groups, err := again.ErrorGroups(ctx)
		if err != nil {
			return false, err
		}
		for i := range groups {
			if g := &groups[i]; g.Other || fault.Unclear(g.Code, g.Message) {
				return true, nil
			}
		}
		if some, err := unclearRetries(ctx, again); some || err != nil {
			return some, err
		}
	}
	return false, nil
}

// unclearText says which items of a bulk action that has ended have no clear answer, and what can be done about it.
func unclearText(r *api.Report) string {
	if r.Unclear+r.UnclearFailed == 0 || !r.State.Final() {
		return ""
	}
	text := unclearItems(r) + " no clear answer: the service may have done the work. "
	if r.UndoneBy != "" {
		if r.Unclear+r.UnclearFailed == 1 {
			return text + "It was not undone, and a retry is refused after an undo: check it at the service. The downloads mark it as unclear."
		}
		return text + "They were not undone, and a retry is refused after an undo: check them at the service. The downloads mark them as unclear."
	}
	return text + "A retry sends the same idempotency keys, unless it asks for new ones: a service that knows them does not do the work twice."
}

// unclearItems says how many items have no clear answer, with the verb.
func unclearItems(r *api.Report) string {
	switch {
	case r.UnclearFailed == 0:
		return words.Plural(r.Unclear, "cancelled item has", "cancelled items have")
	case r.Unclear == 0:
		return words.Plural(r.UnclearFailed, "failed item has", "failed items have")
	}
	return words.Count(r.UnclearFailed) + " failed and " + words.Count(r.Unclear) + " cancelled items have"
}

// undoText says what an undo would not do for want of a clear answer.
func undoText(r *api.Report) string {
	n := r.Unclear + r.UnclearFailed
	if n == 0 || !r.State.Final() || r.UndoneBy != "" || r.UndoOf != "" {
		return ""
	}
	them := "them"
	if n == 1 {
		them = "it"
	}
	leaves := "Undo does not call " + them
	if len(r.Steps) > 1 {
		leaves = "Undo leaves out the step without an answer"
	}
	return words.Plural(n, "item has", "items have") + " no clear answer: the service may have done " + them + ". " + leaves +
		". Retry " + them + " first (same keys), then undo."
}
