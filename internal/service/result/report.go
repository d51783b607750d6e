package result

import (
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/watch"
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
	if out.Retries, out.Combined, err = s.withRetries(ctx, id, view.Counts); err != nil {
		return out, err
	}
	if err := s.AddLinks(ctx, &view); err != nil {
		return out, err
	}
	out.UndoneBy = view.UndoneBy
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
				Pending: int64(st.Pending), Cancelled: int64(st.Cancelled), Skipped: int64(st.Skipped), Unclear: st.Unclear,
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

// withRetries returns the retries of a bulk action, and its counts including the results of the
// retried items; without retries, nothing.
func (s *Results) withRetries(ctx context.Context, id string, c api.Counts) ([]string, *api.Counts, error) {
	var made []string
	sum := c
	if _, err := s.finishBegun(ctx, id); err != nil {
		return nil, nil, err
	}
	for e, err := range s.links.All(ctx, id+"/") {
		if err != nil {
			return nil, nil, err
		}
		if e.Value.Kind != linkRetry {
			continue
		}
		again := e.Name[len(id)+1:]
		made = append(made, again)
		b, err := s.bulks.Get(ctx, again)
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			continue // their results are not known any more: they count as before
		}
		if err != nil {
			return nil, nil, err
		}
		_, of, err := s.withRetries(ctx, again, b.Counts)
		if err != nil {
			return nil, nil, err
		}
		if of == nil {
			of = &b.Counts
		}
		if e.Value.State == report.StateCancelled {
			sum.Cancelled -= b.Counts.Total
		} else {
			sum.Failed -= b.Counts.Total
		}
		add(&sum, of)
	}
	if made == nil {
		return nil, nil, nil
	}
	return made, &sum, nil
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
