package result

import (
	"context"
	"errors"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/watch"
	"github.com/weirhq/weir/internal/service/words"
	"github.com/weirhq/weir/report"
)

// Report returns the results of a bulk action so far; they are final once it has ended.
func (s *Results) Report(ctx context.Context, id string) (api.Report, error) {
	b, err := s.bulks.Bulk(ctx, id)
	if err != nil {
		return api.Report{}, err
	}
	rep, err := b.Report(ctx)
	if err != nil {
		return api.Report{}, err
	}
	if b, err = s.bulks.Bulk(ctx, id); err != nil { // after the report, so that an ended bulk action is shown as ended
		return api.Report{}, err
	}
	view, err := s.bulks.View(ctx, b)
	if err != nil {
		return api.Report{}, err
	}
	out := api.Report{
		ID: id, Name: view.Name, Tenant: view.Tenant, State: view.State, Reason: view.Reason, Outcome: view.Outcome,
		RetryOf: view.RetryOf, UndoOf: view.UndoOf, Counts: view.Counts, Unclear: rep.Unclear,
		Duplicates: view.Duplicates, BadLines: view.BadLines, Steps: stepReports(&view, &rep.Summary), Waited: waitedOf(rep.Waited), StartedAt: view.StartedAt,
		FinishedAt: view.FinishedAt, Duration: api.Duration(rep.Duration), Durability: view.Durability, Losses: view.Losses,
	}
	if out.Errors, err = s.bulks.ErrorGroups(ctx, id); err != nil {
		return out, err
	}
	nameSamples(out.Errors, rep.Errors)
	sum, err := s.sumRetries(ctx, id, view.Counts)
	if err != nil {
		return out, err
	}
	if sum != nil {
		out.Retries, out.Combined = sum.made, &sum.counts
	}
	if err := addUnclear(ctx, b, &out, sum); err != nil {
		return out, err
	}
	if err := s.AddLinks(ctx, &view); err != nil {
		return out, err
	}
	out.UndoneBy, out.Undone = view.UndoneBy, view.Undone
	out.UnclearText, out.UndoText = unclearText(&out), undoText(&out)
	out.Forecast, err = s.outlook.Accuracy(ctx, &out)
	return out, err
}

func stepReports(b *api.BulkAction, sum *report.Summary) []api.StepReport {
	out := make([]api.StepReport, 0, len(sum.Steps))
	for i, st := range sum.Steps {
		x := api.StepReport{
			StepProgress: api.StepProgress{
				Step: st.Name, Action: st.Action, Done: int64(st.Done), Failed: int64(st.Failed), LeftOut: int64(st.LeftOut),
				Attempts: int64(st.Attempts), Calls: int64(st.Calls), Retries: int64(st.Retries), Refused: int64(st.Refused),
				Pending: int64(st.Pending), Cancelled: int64(st.Cancelled), Skipped: int64(st.Skipped), Unclear: st.Unclear, Called: st.Called,
			},
			Rate: st.Rate, P50: api.Duration(st.Latency.P50), P95: api.Duration(st.Latency.P95), P99: api.Duration(st.Latency.P99),
			Max: api.Duration(st.Latency.Max),
		}
		if i < len(b.Steps) {
			x.Action = b.Steps[i].Action
		}
		out = append(out, x)
	}
	return out
}

// nameSamples sets the users' ids of the samples, which the engine's report has.
func nameSamples(groups []api.ErrorGroup, named []report.Group) {
	for i := range groups {
		g := &groups[i]
		for j := range named {
			if n := &named[j]; n.Step == g.Step && n.Code == g.Code && n.Message == g.Message {
				g.Item = n.Sample.ID
			}
		}
	}
}

func waitedOf(list []report.Wait) []api.Waited {
	out := make([]api.Waited, 0, len(list))
	for _, w := range list {
		out = append(out, api.Waited{Reason: w.Reason, Text: watch.Text(w.Reason), Duration: api.Duration(w.Duration), Share: w.Share})
	}
	return out
}

// retriesSum is what the retries of a bulk action changed.
type retriesSum struct {
	made              []string
	counts            api.Counts // of the bulk action, with the results of the retried items
	failed, cancelled int64      // items that were retried, by how they had ended
	lost              bool       // some are no longer kept: their items count as before
}

// sumRetries adds up the retries of a bulk action with these counts; nil: it has none.
func (s *Results) sumRetries(ctx context.Context, id string, c api.Counts) (*retriesSum, error) {
	sum := &retriesSum{counts: c}
	if _, err := s.finishBegun(ctx, id); err != nil {
		return nil, err
	}
	for e, err := range s.links.All(ctx, id+"/") {
		if err != nil {
			return nil, err
		}
		if e.Value.Kind != linkRetry {
			continue
		}
		again := e.Name[len(id)+1:]
		sum.made = append(sum.made, again)
		b, err := s.bulks.Get(ctx, again)
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			sum.lost = true
			continue
		}
		if err != nil {
			return nil, err
		}
		of := &retriesSum{counts: b.Counts}
		if more, err := s.sumRetries(ctx, again, b.Counts); err != nil {
			return nil, err
		} else if more != nil {
			of = more
		}
		if e.Value.State == report.StateCancelled {
			sum.counts.Cancelled -= b.Counts.Total
			sum.cancelled += b.Counts.Total
		} else {
			sum.counts.Failed -= b.Counts.Total
			sum.failed += b.Counts.Total
		}
		sum.lost = sum.lost || of.lost
		add(&sum.counts, &of.counts)
	}
	if sum.made == nil {
		return nil, nil
	}
	return sum, nil
}

// mostSummed is how many retries a view of a bulk action sums up.
const mostSummed = 50

// AddRetried adds what became of the items of a bulk action that were retried.
func (s *Results) AddRetried(ctx context.Context, b *api.BulkAction) error {
	if len(b.Retries) == 0 || len(b.Retries) > mostSummed {
		return nil
	}
	sum, err := s.sumRetries(ctx, b.ID, b.Counts)
	if err != nil || sum == nil || sum.lost || sum.failed+sum.cancelled == 0 {
		return err
	}
	was, is := &b.Counts, &sum.counts
	b.Retried = &api.Retried{
		Failed: sum.failed, Cancelled: sum.cancelled, Done: is.Done - was.Done, FailedAgain: is.Failed - was.Failed + sum.failed,
		Left: is.Ready + is.Waiting + is.InFlight - was.Ready - was.Waiting - was.InFlight,
	}
	b.Retried.Text = retriedText(b.Retried, was)
	return nil
}

// retriedText says which items were retried, and how they ended.
func retriedText(r *api.Retried, was *api.Counts) string {
	var which []string
	switch {
	case r.Failed == 0:
	case was.Failed == 1:
		which = append(which, "the failed item")
	case r.Failed == was.Failed:
		which = append(which, "all "+words.Count(r.Failed)+" failed items")
	default:
		which = append(which, words.Count(r.Failed)+" of "+words.Count(was.Failed)+" failed items")
	}
	if r.Cancelled > 0 { // not of how many: the cancelled items include those that a step left out
		which = append(which, words.Count(r.Cancelled)+" of those cancelled")
	}
	text := strings.Join(which, " and ")
	verb := " were"
	if r.Failed+r.Cancelled == 1 {
		verb = " was"
	}
	ends := []string{words.Count(r.Done) + " done"}
	if r.FailedAgain > 0 {
		ends = append(ends, words.Count(r.FailedAgain)+" failed again")
	}
	if n := r.Failed + r.Cancelled - r.Done - r.FailedAgain - r.Left; n > 0 {
		ends = append(ends, words.Count(n)+" cancelled or left out")
	}
	if r.Left > 0 {
		ends = append(ends, words.Count(r.Left)+" left to do")
	}
	return strings.ToUpper(text[:1]) + text[1:] + verb + " retried: " + strings.Join(ends, ", ")
}

// add adds the results of items to counts whose total already includes them.
func add(to *api.Counts, c *api.Counts) {
	to.Ready += c.Ready
	to.Waiting += c.Waiting
	to.InFlight += c.InFlight
	to.Done += c.Done
	to.Failed += c.Failed
	to.Cancelled += c.Cancelled
}
